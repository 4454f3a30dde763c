# Pages become arrays (README.md here): heddle_page(FILE.c FOLDER NAME SCRIPT...) makes a C file that defines the hdi_page
# NAME from page.html, page.css and the scripts of FOLDER, in this order: each may call what stands in those before it.
find_file(HEDDLE_D3 d3.min.js PATHS /usr/share/javascript/d3 NO_DEFAULT_PATH
          DOC "d3, which is put into pages (Debian and Ubuntu: libjs-d3)")
if(NOT HEDDLE_D3)
  message(STATUS "d3.min.js was not found (Debian: libjs-d3; or set HEDDLE_D3): plans and reports cannot be written as pages")
endif()
set(HEDDLE_EMBED ${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
function(heddle_page out folder name)
  list(TRANSFORM ARGN PREPEND ${folder}/ OUTPUT_VARIABLE files)
  list(JOIN ARGN "," scripts)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DPAGE=${folder} "-DD3=$<$<BOOL:${HEDDLE_D3}>:${HEDDLE_D3}>" -DSCRIPTS=${scripts}
            -DNAME=${name} -DOUT=${out} -P ${HEDDLE_EMBED}
    DEPENDS ${HEDDLE_EMBED} ${folder}/page.html ${folder}/page.css ${files}
    COMMENT "Making the page ${name}"
    VERBATIM)
endfunction()

set(page_array ${CMAKE_CURRENT_BINARY_DIR}/plan_page.c)
heddle_page(${page_array} ${CMAKE_CURRENT_LIST_DIR} hdi_plan_page
            vulkan.js model.js times.js diff.js words.js relate.js chain.js axis.js paint.js queues.js memory.js grid.js
            neighbours.js pictures.js panel.js lists.js search.js pointer.js keys.js live.js main.js)
set(capture_array ${CMAKE_CURRENT_BINARY_DIR}/capture_page.c)
heddle_page(${capture_array} ${CMAKE_CURRENT_LIST_DIR}/capture hdi_capture_page capture.js)
target_sources(heddle_graph_io_objects PRIVATE ${page_array} ${capture_array})
