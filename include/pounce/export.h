// POUNCE_API marks what libpounce shows to programs. Everything else is compiled with hidden
// visibility, so that the library's inside collides with nothing in a program that uses it.
#pragma once

#define POUNCE_API __attribute__((visibility("default")))
