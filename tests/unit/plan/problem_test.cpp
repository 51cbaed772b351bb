#include "plan/problem.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <set>

#include "base/text.h"
#include "support/has.h"
#include "support/joined/joined.h"
#include "unit/plan/support.h"

namespace quern {
namespace {

using test::has;
using test::problem;

std::vector<std::string> legal_values(const Field& field) {
  std::vector<std::string> values;
  if (field.kind == FieldKind::choice) {
    for (const char* const* choice = field.choices; *choice != nullptr; ++choice) values.emplace_back(*choice);
  } else if (field.kind == FieldKind::dtype) {
    for (int i = 0; i < kDTypeCount; ++i) {
      if (contains(field.dtypes, static_cast<DType>(i))) values.emplace_back(kDTypes[i].name);
    }
  } else if (field.kind == FieldKind::list && field.dtypes != 0) {
    for (int i = 0; i < kDTypeCount; ++i) {
      if (!contains(field.dtypes, static_cast<DType>(i))) continue;
      values.emplace_back(kDTypes[i].name);
      values.push_back(values.front() + "," + kDTypes[i].name);
    }
    values.emplace_back("none");
  } else if (field.kind == FieldKind::text) {
    values = {"", "x", "12", "a \"b\" = $c `d` \\e", std::string(static_cast<std::size_t>(field.capacity), 'z')};
  } else {
    values = {std::to_string(field.min), std::to_string(field.max)};
    if (field.max > 12) values.insert(values.begin() + 1, "12");
    if (field.may_be_open) values.emplace_back("open");
    if (field.kind == FieldKind::list) values.emplace_back("none");
    if (field.kind == FieldKind::real) values.insert(values.end(), {"12.5", "1.0000000000000002"});
  }
  return values;
}

std::vector<std::string> illegal_values(const Field& field) {
  if (field.kind == FieldKind::choice) return {"", "nonsense", "0", "no ne"};
  if (field.kind == FieldKind::dtype) return {"", "nonsense", "f7", "BF 16", "3"};
  if (field.kind == FieldKind::list && field.dtypes != 0) return {"", "nonsense", "f32,", "f32,f7", "3", "f32,none"};
  if (field.kind == FieldKind::text)
    return {std::string(static_cast<std::size_t>(field.capacity) + 1, 'z'), "a\nb", "\t", "\x7f", "\xc3\xa9"};
  std::vector<std::string> values = {"", "x", "-2", "99999999999999999999", "0x10", std::to_string(field.max + 1)};
  if (field.kind == FieldKind::real)
    values.insert(values.end(), {"nan", "inf", "1e400", "1,5"});
  else
    values.emplace_back("1.5");
  values.emplace_back(field.kind == FieldKind::list ? "12,-2" : "12 ");
  if (!field.may_be_open) values.emplace_back("open");
  if (!field.may_be_open && field.min > -1) values.emplace_back("-1");
  return values;
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_EQ(error.stage, Stage::problem);
    return error.sentence;
  }
  return "accepted";
}

class EveryFamily : public ::testing::TestWithParam<const Family*> {};

INSTANTIATE_TEST_SUITE_P(Plan, EveryFamily, ::testing::ValuesIn(builtin_families()),
                         [](const auto& family) { return std::string(family.param->name); });

TEST_P(EveryFamily, EachLegalValueOfEachFieldComesBack) {
  for (const Field& field : GetParam()->fields) {
    for (const std::string& value : legal_values(field)) {
      AnyProblem p(*GetParam());
      p.set(field.name, value);
      EXPECT_EQ(p.get(field.name), value) << field.name;
      AnyProblem pasted(*GetParam());
      parse_fields(*GetParam(), p.text().substr(std::strlen(GetParam()->name)), pasted.data());
      EXPECT_EQ(pasted.text(), p.text());
      EXPECT_EQ(get_integer(field, pasted.data()), get_integer(field, p.data())) << p.text();
    }
  }
}

TEST_P(EveryFamily, EachIllegalValueIsRefusedWithFieldValueAndWhatItTakes) {
  for (const Field& field : GetParam()->fields) {
    for (const std::string& value : illegal_values(field)) {
      AnyProblem p(*GetParam());
      const std::string before = p.text();
      const std::string sentence = refusal([&] { p.set(field.name, value); });
      EXPECT_TRUE(has(sentence, std::string(field.name) + "=" + value)) << sentence;
      EXPECT_TRUE(has(sentence, "it takes " + accepted_text(field))) << sentence;
      EXPECT_EQ(p.text(), before);
    }
  }
}

TEST_P(EveryFamily, WhatAFieldAcceptsNamesEveryValue) {
  for (const Field& field : GetParam()->fields) {
    for (const std::string& value : legal_values(field)) {
      if (field.kind == FieldKind::text) continue;                  // any
      if (value.substr(0, 2) == "12" || has(value, ".")) continue;  // between the smallest and the largest
      if (field.kind == FieldKind::list && has(value, ",")) continue;
      EXPECT_TRUE(has(accepted_text(field), value)) << field.name << ": " << accepted_text(field);
    }
  }
}

TEST_P(EveryFamily, AValueThatNoTextGivesIsRefusedToo) {
  for (const Field& field : GetParam()->fields) {
    AnyProblem p(*GetParam());
    set_integer(field, p.data(), field.kind == FieldKind::choice || field.kind == FieldKind::dtype ? 200 : -7);
    const std::string sentence = refusal([&] { check_problem(p.family(), p.data()); });
    EXPECT_TRUE(has(sentence, std::string(field.name) + "=")) << sentence;
  }
}

TEST_P(EveryFamily, AnUnknownFieldSuggestsTheClosest) {
  for (const Field& field : GetParam()->fields) {
    AnyProblem p(*GetParam());
    const std::string typed = std::string(field.name) + "s";
    const std::string sentence = refusal([&] { p.set(typed, "1"); });
    EXPECT_TRUE(has(sentence, "no field \"" + typed + "\"; did you mean " + field.name)) << sentence;
  }
  AnyProblem p(*GetParam());
  const std::string sentence = refusal([&] { p.get("quite_something_else"); });
  EXPECT_FALSE(has(sentence, "did you mean")) << sentence;
  for (const Field& field : GetParam()->fields) EXPECT_TRUE(has(sentence, field.name)) << sentence;
}

TEST_P(EveryFamily, NamesAreReadWhateverTheirCase) {
  for (const Field& field : GetParam()->fields) {
    if (field.kind != FieldKind::dtype && field.kind != FieldKind::choice) continue;
    for (const std::string& value : legal_values(field)) {
      std::string typed = value;
      for (char& c : typed) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      AnyProblem p(*GetParam());
      p.set(field.name, typed);
      EXPECT_EQ(p.get(field.name), value) << "the canonical name is printed";
    }
  }
}

TEST(Aliases, AreReadAndTheCanonicalNameIsPrinted) {
  const std::pair<const char*, const char*> dtypes[] = {
      {"float64", "f64"}, {"double", "f64"},    {"float32", "f32"}, {"float", "f32"},          {"float16", "f16"},
      {"half", "f16"},    {"bfloat16", "bf16"}, {"fp8", "e4m3"},    {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"},
      {"int64", "i64"},   {"int32", "i32"},     {"uint8", "u8"},    {"Float16", "f16"},        {"BFLOAT16", "bf16"}};
  for (const auto& [typed, canonical] : dtypes)
    EXPECT_EQ(problem(cat("gather dtype=", typed)).get("dtype"), canonical) << typed;
  EXPECT_EQ(problem("pointwise activation=swish").get("activation"), "silu");
  EXPECT_EQ(problem("pointwise activation=Swish").text(), "pointwise activation=silu");
}

TEST(Aliases, AreRefusedWhereTheFieldDoesNotTakeWhatTheyMean) {
  EXPECT_TRUE(has(refusal([] { problem("gather index=float32"); }), "index=float32 is not accepted by gather"));
  EXPECT_TRUE(has(refusal([] { problem("gather mode=swish"); }), "mode=swish is not accepted"));
}

TEST(Suggestions, AreMadeForValuesToo) {
  EXPECT_TRUE(has(refusal([] { problem("pointwise activation=geul"); }), ", situ. Did you mean gelu?"));
  EXPECT_TRUE(has(refusal([] { problem("gather mode=clip"); }), ". Did you mean clamp?"));
  EXPECT_TRUE(has(refusal([] { problem("gather dtype=bf61"); }), ". Did you mean bf16?"));
  EXPECT_FALSE(has(refusal([] { problem("gather width=4k"); }), "Did you mean"));
}

// Each single field at a non-default value, and pairs of them.
TEST_P(EveryFamily, ProblemsPackEqualExactlyWhenTheyAreEqual) {
  std::set<std::string> texts;
  std::set<std::string> packs;
  const auto add = [&](const AnyProblem& p) {
    PackedProblem packed;
    pack(p.family(), p.data(), packed);
    const std::string bytes(reinterpret_cast<const char*>(packed.bytes.data()), packed.size);
    EXPECT_EQ(texts.insert(p.text()).second, packs.insert(bytes).second) << p.text();
  };
  for (const Field& a : GetParam()->fields) {
    for (const std::string& value : legal_values(a)) {
      AnyProblem p(*GetParam());
      p.set(a.name, value);
      add(p);
      for (const Field& b : GetParam()->fields) {
        AnyProblem both = p;
        both.set(b.name, legal_values(b).back());
        add(both);
      }
    }
  }
  EXPECT_GT(texts.size(), static_cast<std::size_t>(GetParam()->fields.count));
}

TEST_P(EveryFamily, PackIgnoresPadding) {
  std::vector<unsigned char> zeros(GetParam()->problem_bytes, 0);
  std::vector<unsigned char> ones(GetParam()->problem_bytes, 0xff);
  for (const Field& field : GetParam()->fields) {
    if (!is_number(field)) std::memset(ones.data() + field.offset, 0, bytes_of(field));  // a list of one zero
    set_integer(field, zeros.data(), 1);
    set_integer(field, ones.data(), 1);
  }
  PackedProblem a;
  PackedProblem b;
  pack(*GetParam(), zeros.data(), a);
  pack(*GetParam(), ones.data(), b);
  ASSERT_EQ(a.size, b.size);
  EXPECT_EQ(std::memcmp(a.bytes.data(), b.bytes.data(), a.size), 0);
}

TEST_P(EveryFamily, FitsWhatTheLaunchPathReserves) {
  EXPECT_LE(GetParam()->problem_bytes, kMaxProblemBytes);
  for (const Step& step : GetParam()->steps) EXPECT_LE(step.parameters.count, kMaxParameters);
  for (const LaunchExtent& extent : GetParam()->launch_extents)
    EXPECT_NE(find_field(*GetParam(), extent.field), nullptr) << extent.field;
}

TEST_P(EveryFamily, BenchCasesAreClosedAndLegal) {
  EXPECT_GT(GetParam()->bench_cases.count, 0);
  for (const char* text : GetParam()->bench_cases) {
    const AnyProblem p = problem(text);
    check_problem(p.family(), p.data());
    EXPECT_FALSE(has(p.text(), "open")) << text;
    for (const LaunchExtent& extent : GetParam()->launch_extents) EXPECT_NE(p.get(extent.field), "open") << text;
  }
}

TEST(ProblemText, HoldsWhatIsNotTheDefault) {
  EXPECT_EQ(problem("gather").text(), "gather");
  EXPECT_EQ(problem("gather width=4096 dtype=bf16").text(), "gather");
  EXPECT_EQ(problem("gather  width=8192   rows=7 mode=zero ").text(), "gather rows=7 width=8192 mode=zero");
}

TEST(ProblemText, WhatIsNoFieldIsRefusedByItself) {
  const std::string sentence = refusal([] { problem("gather width"); });
  EXPECT_TRUE(has(sentence, "expected FIELD=VALUE, got \"width\"")) << sentence;
  EXPECT_TRUE(has(refusal([] { problem("gather =3"); }), "no field \"\""));
}

TEST(CheckProblem, RulesBetweenFieldsNameTheField) {
  const auto sentence = [](const char* text) {
    return refusal([&] {
      const AnyProblem p = problem(text);
      check_problem(p.family(), p.data());
    });
  };
  EXPECT_TRUE(has(sentence("gather width=8 out_stride=7"), "out_stride"));
  EXPECT_TRUE(has(sentence("gather dtype=i32 scale=f32"), "scale needs a floating dtype"));
  EXPECT_TRUE(has(sentence("gather width=17179869185 dtype=u8"), "width is too large"));
  EXPECT_TRUE(has(sentence("gather rows=0 count=1 mode=clamp"), "rows=0"));
  EXPECT_TRUE(has(sentence("pointwise width=8 out_stride=7"), "out_stride"));
  EXPECT_EQ(sentence("gather width=0"), "accepted");
  EXPECT_EQ(sentence("gather rows=0 count=0 mode=clamp"), "accepted");
  EXPECT_EQ(sentence("pointwise width=8 x_stride=7"), "accepted");
}

TEST(CheckProblem, ItsErrorCarriesFamilyAndProblem) {
  const AnyProblem p = problem("gather width=8 out_stride=7");
  try {
    check_problem(p.family(), p.data());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.family, "gather");
    EXPECT_EQ(error.problem, "gather width=8 out_stride=7");
  }
}

const AnyProblem& joined() {
  static const AnyProblem problem(test::Joined::family());
  return problem;
}
AnyProblem parsed(std::string_view fields) {
  AnyProblem p = joined();
  parse_fields(p.family(), fields, p.data());
  return p;
}

TEST(ListField, IsParsedAndPrinted) {
  for (const char* text : {"joined", "joined widths=4", "joined widths=4,0,17", "joined widths=none"})
    EXPECT_EQ(parsed(std::string_view(text).substr(6)).text(), text);
  EXPECT_EQ(parsed("widths=8").text(), "joined") << "the default";
  EXPECT_EQ(parsed("widths=1,2").get("widths"), "1,2");
  for (const char* wrong : {"", ",", "1,", "1,,2", "x", "-1", "1048577"}) {
    const std::string sentence = refusal([&] { parsed(cat("widths=", wrong)); });
    EXPECT_TRUE(has(sentence, cat("widths=", wrong, " is not accepted by joined; it takes up to 64 integers")))
        << sentence;
  }
  std::string most = "1";
  for (int i = 1; i < 64; ++i) most += ",1";
  EXPECT_EQ(parsed("widths=" + most).get("widths"), most);
  EXPECT_TRUE(has(refusal([&] { parsed(cat("widths=", most, ",1")); }), "up to 64 integers"));
}

TEST(ListField, OneThatIsTooLongIsRefusedByPrepare) {
  test::Joined problem;
  problem.widths.count = 65;
  EXPECT_TRUE(has(refusal([&] { check_problem(test::Joined::family(), &problem); }), "widths=(65) is not accepted"));
  problem.widths.count = -1;
  EXPECT_TRUE(has(refusal([&] { check_problem(test::Joined::family(), &problem); }), "is not accepted"));
}

TEST(TextField, SpellingsOfOneValueAreOneProblem) {
  const Family& family = test::Joined::family();
  const test::Joined given{.formula = "x*x"}, usual{.formula = "x * x"};
  EXPECT_EQ(problem_text(family, &given), "joined formula=\"x * x\"");
  PackedProblem a, b;
  pack(family, &given, a);
  pack(family, &usual, b);
  ASSERT_EQ(a.size, b.size);
  EXPECT_EQ(std::memcmp(a.bytes.data(), b.bytes.data(), a.size), 0);
  const test::Joined unknown{.formula = "x*x "};
  EXPECT_EQ(problem_text(family, &unknown), "joined formula=\"x*x \"");
}

TEST(TextField, IsQuotedWhereItMustBe) {
  for (const std::string text :
       {"a", "x * x", "say \"no\"", "back\\slash", " x ", "a=b", "", "x>0?x:0", "$HOME", "`id`", "a=\"b\""}) {
    AnyProblem p = joined();
    p.set("formula", text);
    EXPECT_EQ(p.get("formula"), text);
    EXPECT_EQ(parsed(p.text().substr(6)).get("formula"), text) << p.text();
  }
  AnyProblem p = joined();
  p.set("formula", "x * x");
  EXPECT_EQ(p.text(), "joined formula=\"x * x\"");
  p.set("formula", "x>$0`");
  EXPECT_EQ(p.text(), "joined formula=\"x>\\$0\\`\"") << "a shell must not read it";
  for (const char* text : {"\n", "a\tb", "caf\xc3\xa9", "\r"})
    EXPECT_TRUE(has(refusal([&] { p.set("formula", text); }), "printable ASCII")) << text;
  test::Joined bell;
  bell.formula = "\a";
  EXPECT_TRUE(has(refusal([&] { check_problem(test::Joined::family(), &bell); }), "printable ASCII"));
  EXPECT_TRUE(has(refusal([] { parsed("formula=\"x"); }), "a quote does not end"));
  EXPECT_TRUE(
      has(refusal([&] { p.set("formula", std::string(65, 'x')); }), "it takes up to 64 printable ASCII characters"));
}

TEST(SplitWords, AreSplitAtBlanksOutsideOfQuotes) {
  EXPECT_EQ(split_words("  a  b=\"c d\"\te\\ f "), (std::vector<std::string>{"a", "b=c d", "e f"}));
  EXPECT_EQ(split_words(""), std::vector<std::string>());
  EXPECT_EQ(split_words("\"\""), std::vector<std::string>{""});
}

// Problems are distinguished by the fields that differ from their defaults, of any length.
TEST(PackedProblems, HoldListsAndTexts) {
  const auto packed = [](const AnyProblem& p) {
    PackedProblem bytes;
    pack(p.family(), p.data(), bytes);
    return std::string(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.size);
  };
  EXPECT_EQ(packed(joined()), "");
  EXPECT_EQ(packed(parsed("widths=8 formula=x")), "");
  std::set<std::string> all;
  for (const char* fields :
       {"widths=1", "widths=1,0", "widths=none", "formula=xx", "formula=\"\"", "rows=1", "widths=1 rows=1"})
    EXPECT_TRUE(all.insert(packed(parsed(fields))).second) << fields;
  AnyProblem longer = parsed("widths=1,2,3");
  longer.set("widths", "1");
  EXPECT_EQ(packed(longer), packed(parsed("widths=1"))) << "what was past the end";
}

}  // namespace
}  // namespace quern
