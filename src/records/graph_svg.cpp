#include "records/graph_svg.h"

#include <gvc.h>

#include <memory>
#include <mutex>
#include <string_view>

namespace ioc_exporter::records {
namespace {

std::string& complaint() {
  static std::string text;
  return text;
}

// Called from C.
int on_complaint(char* text) noexcept {
  try {
    complaint() += text;
  } catch (...) {
  }
  return 0;
}

struct GraphDeleter {
  void operator()(Agraph_t* graph) const { agclose(graph); }
};

Error failed(const std::string& action) {
  std::string why;
  for (const char c : complaint()) why += c == '\n' ? ' ' : c;
  while (why.ends_with(' ')) why.pop_back();
  return error_in_words(action + ": " + (why.empty() ? "Graphviz does not say why" : why));
}

Result<std::string> render(GVC_t* context, Agraph_t* graph) {
  if (gvLayout(context, graph, "dot") != 0) return failed("lay out a picture");
  char* data = nullptr;
  unsigned int size = 0;
  const int status = gvRenderData(context, graph, "svg", &data, &size);
  std::string svg = data != nullptr ? std::string(data, size) : std::string();
  if (data != nullptr) gvFreeRenderData(data);
  gvFreeLayout(context, graph);
  if (status != 0) return failed("draw a picture");
  const std::size_t start = svg.find("<svg");
  if (start == std::string::npos) return failed("draw a picture");
  return svg.substr(start);
}

}  // namespace

bool can_draw() {
  return true;
}

Result<std::string> draw_svg(const std::string& dot) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  complaint().clear();
  agseterr(AGERR);
  agseterrf(on_complaint);
  static GVC_t* const context = gvContext();  // kept: loading its plugins takes most of the time
  if (context == nullptr) return failed("load Graphviz");
  const std::unique_ptr<Agraph_t, GraphDeleter> graph(agmemread(dot.c_str()));
  if (!graph) return failed("read DOT text");
  return render(context, graph.get());
}

}  // namespace ioc_exporter::records
