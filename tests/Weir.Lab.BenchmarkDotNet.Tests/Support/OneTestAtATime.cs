// BenchmarkDotNet runs one at a time in a process, and what it counts for the whole process, such as bytes and exceptions, would have those of other tests in
// it.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
