// The images of a data set as a compact list: about 60 bytes an image with a name of 20, because
// names lie in one arena and paths share their folder. Millions of images are meant, so nothing
// here holds a string or a node for each. Copies and parts share memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

struct Sample {
  std::string path;               // relative to the root, '/' between parts, UTF-8
  int32_t label = 0;              // index into the classes
  uint64_t id = 0;                // xxh3 of path: identity for order and augmentation
  int32_t width = 0, height = 0;  // as stored, before the EXIF orientation
};

class SampleList {
 public:
  SampleList();
  SampleList(const std::vector<Sample>& samples);
  // Cheap: a copy shares the memory until one of the two changes. There is no move, so that no list
  // is ever without memory.
  SampleList(const SampleList&) = default;
  SampleList& operator=(const SampleList&) = default;

  size_t size() const;
  bool empty() const { return size() == 0; }
  // i < size(), here and below.
  Sample operator[](size_t i) const;
  std::string path(size_t i) const;
  int32_t label(size_t i) const;
  uint64_t id(size_t i) const;
  int32_t width(size_t i) const;
  int32_t height(size_t i) const;
  // The two parts of a path: "cat/2021/" (or "") and "x.jpg". Borrowed until the list changes.
  std::string_view folder(size_t i) const;
  std::string_view name(size_t i) const;
  // Folders are numbered from 0 to folders() - 1; one may have no image in this list.
  uint32_t folder_number(size_t i) const;
  size_t folders() const;
  // As path(a) < path(b), without making either.
  bool is_path_less(size_t a, size_t b) const;

  // At most 2^32 - 1 images.
  void push_back(const Sample& sample);
  void push_back(std::string_view path, int32_t label, uint64_t id);  // of unknown extents
  // All of `other`; shares its names when this list is empty.
  void append(const SampleList& other);
  void set_label(size_t i, int32_t label);
  // Every label l becomes by_label[l].
  void replace_labels(std::span<const int32_t> by_label);
  void set_extents(size_t i, int32_t width, int32_t height);

  // The images at `indices`, in that order; names stay shared.
  SampleList part(std::span<const uint32_t> indices) const;

  // What the list and its names occupy.
  size_t memory_bytes() const;

  // Makes one value after the other: for tests and short lists.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Sample;
    using difference_type = std::ptrdiff_t;
    using pointer = const Sample*;
    using reference = Sample;
    Iterator(const SampleList& list, size_t at) : list_(&list), at_(at) {}
    Sample operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    void operator++(int) { ++at_; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const SampleList* list_;
    size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  struct Entries;
  struct Names;
  struct Entry;

  const Entry& entry(size_t i) const;
  void add(std::string_view path, const Entry& entry);
  void make_own();

  std::shared_ptr<Entries> entries_;
  std::shared_ptr<Names> names_;
};

}  // namespace pounce
