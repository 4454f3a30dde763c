# The page of hd_plan_write_html becomes an array in an object of graph/: see README.md here.
find_file(HEDDLE_D3 d3.min.js PATHS /usr/share/javascript/d3 /usr/share/nodejs/d3/dist NO_DEFAULT_PATH
          DOC "d3, which is put into the page that shows plans (Debian and Ubuntu: libjs-d3)")
if(NOT HEDDLE_D3)
  message(STATUS "d3.min.js was not found (Debian: libjs-d3; or set HEDDLE_D3): plans cannot be written as pages")
endif()
set(page_folder ${CMAKE_CURRENT_LIST_DIR})
# In this order: each may call what stands in those before it.
set(page_scripts vulkan.js model.js words.js relate.js chain.js axis.js paint.js queues.js memory.js grid.js
                 neighbours.js panel.js lists.js search.js main.js)
list(TRANSFORM page_scripts PREPEND ${page_folder}/ OUTPUT_VARIABLE page_files)
list(JOIN page_scripts "," page_script_list)
set(page_array ${CMAKE_CURRENT_BINARY_DIR}/plan_page.c)
add_custom_command(
  OUTPUT ${page_array}
  COMMAND ${CMAKE_COMMAND} -DPAGE=${page_folder} "-DD3=$<$<BOOL:${HEDDLE_D3}>:${HEDDLE_D3}>" -DSCRIPTS=${page_script_list}
          -DOUT=${page_array} -P ${page_folder}/embed.cmake
  DEPENDS ${page_folder}/embed.cmake ${page_folder}/page.html ${page_folder}/page.css ${page_files}
  COMMENT "Making the page that shows plans"
  VERBATIM)
target_sources(heddle_graph_io_objects PRIVATE ${page_array})
