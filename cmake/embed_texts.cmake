# Writes a .cpp that holds text files as raw strings: nothing is looked for on the disk at run time.
# usage: cmake -DOUTPUT=FILE.cpp -DTEXTS=a.k;b.preamble -P embed_texts.cmake
set(entries "")
foreach(path IN LISTS TEXTS)
  file(READ ${path} text)
  get_filename_component(name ${path} NAME_WE)
  string(APPEND entries "    {\"${name}\", R\"POUNCE_TEXT(${text})POUNCE_TEXT\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [=[
#include "backend/kernels/texts.h"

namespace pounce::kernels {
namespace {

constexpr Text kTexts[] = {
@entries@};

}  // namespace

std::span<const Text> texts() {
  return kTexts;
}

}  // namespace pounce::kernels
]=])
