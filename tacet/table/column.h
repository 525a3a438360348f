// Typed columns of a table: 8 bytes for a number; 4 bytes for a text, and each distinct text once.
#ifndef TACET_TABLE_COLUMN_H_
#define TACET_TABLE_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace tacet::table {

// Cells in the order in which they were appended. They lie in blocks, so that a growing column
// copies no more than one block.
template <typename T>
class Cells {
 public:
  void Append(T cell) {
    if (size_ % kBlock == 0) {
      blocks_.emplace_back();
      if (size_ > 0) blocks_.back().reserve(kBlock);
    }
    blocks_.back().push_back(cell);
    ++size_;
  }
  size_t size() const { return size_; }
  T operator[](size_t at) const { return blocks_[at / kBlock][at % kBlock]; }

 private:
  static constexpr size_t kBlock = size_t{1} << 16;

  std::vector<std::vector<T>> blocks_;
  size_t size_ = 0;
};

// Distinct texts, numbered from 0 in the order in which they first come.
class TextNumbers {
 public:
  TextNumbers() : index_(0, Hash{this}, Equal{this}) {}
  TextNumbers(const TextNumbers&) = delete;
  TextNumbers& operator=(const TextNumbers&) = delete;

  uint32_t NumberOf(std::string_view text);
  size_t size() const { return ends_.size(); }
  std::string_view text(uint32_t number) const;
  // Gives back the memory that finds texts: no NumberOf afterwards.
  void Seal();

 private:
  struct Hash {
    using is_transparent = void;
    const TextNumbers* texts;
    size_t operator()(std::string_view text) const;
    size_t operator()(uint32_t number) const { return (*this)(texts->text(number)); }
  };
  struct Equal {
    using is_transparent = void;
    const TextNumbers* texts;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(uint32_t number, std::string_view text) const {
      return texts->text(number) == text;
    }
  };

  std::string letters_;  // of all texts, one after the other
  std::vector<uint64_t> ends_;
  absl::flat_hash_set<uint32_t, Hash, Equal> index_;
};

// A text as which a number counts where texts are compared: a whole number in digits alone, another
// one in the fewest digits that give it; "" for NaN, which is a missing value.
std::string TextOfNumber(double number);

// A number in a message: in the fewest digits that give it, 1e+300 for 10^300.
std::string ShownNumber(double number);

// Those of the texts that are the text of a number, as numbers.
std::vector<double> NumbersAmong(std::span<const std::string> texts);

// The number as which a float counts: the one with the fewest digits that is read as the float. 0.1
// for the float of 0.1, which is 0.100000001490116.
double WidenedFloat(float number);

// Immutable; copies share the cells.
class Column {
 public:
  size_t rows() const;
  // Else it holds texts.
  bool is_numbers() const { return cells_->index() == 0; }
  // For a column of numbers; NaN where the value is missing, never -0.
  double number(size_t row) const { return std::get_if<Numbers>(cells_.get())->cells[row]; }
  // For a column of texts; "" where the value is missing.
  uint32_t code(size_t row) const { return std::get_if<Texts>(cells_.get())->codes[row]; }
  // Codes are below it; they are numbered in the order of their first rows.
  size_t distinct() const { return std::get_if<Texts>(cells_.get())->texts->size(); }
  std::string_view text(uint32_t code) const {
    return std::get_if<Texts>(cells_.get())->texts->text(code);
  }
  // For either kind.
  std::string TextOf(size_t row) const;
  // The same for a message, where a number is a ShownNumber.
  std::string ShownAt(size_t row) const;

 private:
  friend class ColumnBuilder;
  struct Numbers {
    Cells<double> cells;
  };
  struct Texts {
    Cells<uint32_t> codes;
    std::unique_ptr<TextNumbers> texts;
  };
  using Either = std::variant<Numbers, Texts>;

  explicit Column(std::shared_ptr<const Either> cells) : cells_(std::move(cells)) {}

  std::shared_ptr<const Either> cells_;
};

class ColumnBuilder {
 public:
  // `missing`: numbers that mean "missing".
  explicit ColumnBuilder(std::vector<double> missing = {});
  // For texts, whatever they look like.
  static ColumnBuilder OfTexts();

  // NaN: a missing value.
  void AddNumber(double number);
  // "": a missing value. Another text makes a column of texts, where numbers count as
  // TextOfNumber.
  void AddText(std::string_view text);
  size_t rows() const;
  Column Finish() &&;

 private:
  void BecomeTexts();

  std::vector<double> missing_;
  std::unique_ptr<Column::Either> cells_;
};

}  // namespace tacet::table

#endif  // TACET_TABLE_COLUMN_H_
