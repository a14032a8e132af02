#include "backend/opencl/runtime.h"

#include <algorithm>

#include <fmt/format.h>

namespace pounce::opencl {

std::shared_ptr<Runtime> open_runtime(std::shared_ptr<const Api> api, const DeviceInfo& info) {
  auto runtime = std::make_shared<Runtime>();
  runtime->api = api;
  runtime->device = info;
  cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, cl_context_properties(info.platform),
                                        0};
  cl_int error = CL_SUCCESS;
  cl_context context = api->create_context(properties, 1, &info.id, nullptr, nullptr, &error);
  check(error, fmt::format("opening {}", info.name));
  runtime->context = Context(api, context);
  for (Queue* queue : {&runtime->compute, &runtime->transfers}) {
    cl_command_queue made = api->create_command_queue(context, info.id, 0, &error);
    check(error, fmt::format("opening a queue of {}", info.name));
    *queue = Queue(api, made);
  }
  return runtime;
}

std::vector<cl_event> list_of(std::initializer_list<EventRef> events) {
  std::vector<cl_event> list;
  for (const EventRef& event : events) {
    if (event && std::ranges::count(list, event->get()) == 0) list.push_back(event->get());
  }
  return list;
}

}  // namespace pounce::opencl
