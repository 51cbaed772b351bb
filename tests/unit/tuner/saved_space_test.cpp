#include "tuner/space/saved_space.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/has.h"
#include "unit/tuner/synthetic.h"

namespace quern {
namespace {

using test::has;

const std::string kAxesText = R"({"device_name": "made up", "tune_params_keys": ["threads", "pad", "kind"],
"tune_params": {"threads": [32, 64.0, 128], "pad": [false, true], "kind": ["row", "col"]}, )";
const std::string kConfigsText = R"("cache": {
"32,False,row": {"threads": 32, "pad": false, "kind": "row", "time": 0.25, "times": [0.2, 0.3]},
"64,True,col": {"threads": 64, "pad": true, "kind": "col", "time": "RuntimeFailedConfig"},
"128,True,row": {"threads": 128.0, "pad": true, "kind": "row", "time": 0.125})";

SavedSpace read(const std::string& text) { return read_saved_space("made.json", text); }

std::string saved_space_refusal(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::bad_input);
    EXPECT_NE(error.sentence.find("made.json"), std::string::npos) << error.sentence;
    return error.sentence;
  }
  return "";
}

void expect_the_three(const SavedSpace& saved) {
  ASSERT_EQ(saved.space.size(), 3);
  EXPECT_EQ(saved.us, (std::vector<double>{250, test::kFailed, 125}));
  EXPECT_EQ(saved.space.text(2), "threads=128 pad=true kind=row");
  EXPECT_EQ(saved.failed, 1);
  EXPECT_EQ(saved.best, 2);
  EXPECT_TRUE(saved.first.empty());
}

TEST(SavedSpace, ReadsACacheOfKernelTuner) { expect_the_three(read(kAxesText + kConfigsText + "}}")); }

TEST(SavedSpace, ClosingBracesMayBeMissing) {
  for (const char* end : {"}", "", ",", ",\n", "}\n", "\n"}) expect_the_three(read(kAxesText + kConfigsText + end));
}

TEST(SavedSpace, ATruncatedCacheIsNamedWithItsPlace) {
  const std::string whole = kAxesText + kConfigsText;
  const std::size_t last = whole.rfind("\"128,True,row\"");
  // Each cut inside of the last config, and some inside of the head.
  for (std::size_t end = last + 1; end < whole.size(); ++end) {
    const std::string sentence = saved_space_refusal(whole.substr(0, end));
    EXPECT_TRUE(has(sentence, "truncated") || has(sentence, "damaged")) << whole.substr(last, end - last);
    EXPECT_TRUE(has(sentence, "line ")) << sentence;
  }
  for (std::size_t end = 1; end < kAxesText.size(); ++end)
    EXPECT_NE(saved_space_refusal(whole.substr(0, end)), "") << end;
}

TEST(SavedSpace, ADamagedCacheIsNamedWithItsPlace) {
  const std::string whole = kAxesText + kConfigsText + "}}";
  const auto with = [&](std::string_view what, std::string_view instead) {
    std::string text = whole;
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), instead);
  };
  EXPECT_TRUE(has(saved_space_refusal(with("0.25,", "0.25;")), "line 3"));
  EXPECT_TRUE(has(saved_space_refusal(with("\"pad\": true", "\"pad\": 3")), "64,True,col"));
  EXPECT_TRUE(has(saved_space_refusal(with("\"pad\": true", "\"pod\": true")), "has no \"pad\""));
  EXPECT_TRUE(has(saved_space_refusal(with("\"time\": 0.25", "\"time\": null")), "32,False,row"));
  EXPECT_TRUE(has(saved_space_refusal(with("\"time\": 0.25", "\"time\": -1")), "not positive"));
  EXPECT_TRUE(has(saved_space_refusal(with("\"threads\": 128.0, \"pad\": true", "\"threads\": 32, \"pad\": false")),
                  "is a duplicate"));
  EXPECT_TRUE(has(saved_space_refusal(with("\"cache\"", "\"cash\"")), "has no \"cache\""));
  EXPECT_TRUE(has(saved_space_refusal(with("[\"threads\", ", "[\"wide\", ")), "has no \"wide\""));
  EXPECT_TRUE(has(saved_space_refusal(with("[false, true]", "[false, true, false]")), "twice"));
  EXPECT_TRUE(has(saved_space_refusal(with("[false, true]", "[false, [true]]")), "not a number"));
}

TEST(SavedSpace, AnEmptySpaceIsRefused) {
  EXPECT_TRUE(has(saved_space_refusal(""), "empty"));
  EXPECT_TRUE(has(saved_space_refusal(kAxesText + "\"cache\": {}}"), "no config"));
  EXPECT_TRUE(has(saved_space_refusal("[1, 2]"), "tune_params"));
  EXPECT_TRUE(has(saved_space_refusal("not json"), "damaged"));
  EXPECT_TRUE(
      has(saved_space_refusal(
              kAxesText +
              R"("cache": {"x": {"threads": 32, "pad": true, "kind": "row", "time": "CompilationFailedConfig"}}})"),
          "every config failed"));
}

// ---- quern's own sweeps

std::string head(int schema, int points) {
  return cat(
      R"({"quern_sweep":)", schema, R"(,"family":"gather","axes":[{"name":"form","values":["0","1"],"sentence":"x"},)",
      R"({"name":"threads","values":["128","256"]}],"points":)", points, R"(,"default":"form=1 threads=128"})", "\n");
}
const std::string kLines = R"({"config":"form=0 threads=128","us":35.1,"samples":[35.0,35.2],"at_s":3.21}
{"config":"form=0 threads=256","failure":"wrong","why":"out[12,5] is 0x3f80","at_s":3.3}
{"config":"form=1 threads=128","us":30.5,"same_as":"form=0 threads=128"}
)";
const std::string kResult = R"({"finalists":[{"config":"form=1 threads=128","us":30.5}]}
{"result":{"winner":"form=1 threads=128","us":30.5,"complete":true}}
)";

TEST(SavedSpace, ReadsASweepOfOurs) {
  for (const std::string& end : {std::string(), kResult, std::string("{\"config\":\"form=1 thr")}) {
    const SavedSpace saved = read(head(1, 3) + kLines + end);
    ASSERT_EQ(saved.space.size(), 3);
    EXPECT_EQ(saved.us, (std::vector<double>{35.1, test::kFailed, 30.5}));
    EXPECT_EQ(saved.failed, 1);
    EXPECT_EQ(saved.best, 2);
    EXPECT_EQ(saved.first, std::vector<int>{2}) << "the default config";
  }
}

TEST(SavedSpace, RefusesASweepThatIsNotWhole) {
  EXPECT_TRUE(has(saved_space_refusal(head(1, 4) + kLines + kResult), "3 of 4 points"));
  EXPECT_TRUE(has(saved_space_refusal(head(2, 3) + kLines), "schema 2"));
  EXPECT_TRUE(has(saved_space_refusal(head(1, 3) + kLines + "{\"config\":nope}\n"), "line 5"));
  EXPECT_TRUE(
      has(saved_space_refusal(head(1, 3) + kLines + "{\"config\":\"form=7 threads=128\",\"us\":1}\n"), "form=7"));
  EXPECT_TRUE(has(saved_space_refusal(head(1, 3) + kLines + "{\"config\":\"form=1 warps=1\",\"us\":1}\n"), "warps"));
  EXPECT_TRUE(has(saved_space_refusal(head(1, 3) + kLines + "{\"config\":\"form=1\",\"us\":1}\n"), "too few"));
  EXPECT_TRUE(
      has(saved_space_refusal(head(1, 3) + kLines + "{\"config\":\"form=1 threads=256\",\"us\":\"x\"}\n"), "line 5"));
  EXPECT_TRUE(has(saved_space_refusal(head(1, 3) + kLines + "{\"config\":\"form=0 threads=128\",\"us\":1}\n"),
                  "is a duplicate"));
  EXPECT_TRUE(has(saved_space_refusal(head(1, 3) + "\n"), "0 of 3"));
}

}  // namespace
}  // namespace quern
