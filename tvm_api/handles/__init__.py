"""Views by TVM's names that nothing but TVM's surface shows: script builders, visitors, data types, layouts."""
