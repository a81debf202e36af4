using System.Threading.Tasks.Dataflow;

namespace DataflowNetwork;

using Weir.Dataflow;          // The only line that differs from the program with Microsoft's blocks.

internal static class Program
{
    private static async Task Main(string[] args)
    {
        int lines = args.Length > 0 ? int.Parse(args[0]) : 10_000;
        Dictionary<string, int> counts = [];

        ExecutionDataflowBlockOptions parallel = new() { MaxDegreeOfParallelism = 4, BoundedCapacity = 100 };
        TransformBlock<string, string> normalize = new(static line => line.Trim().ToLowerInvariant(), parallel);
        TransformManyBlock<string, string> split = new(static line => line.Split(' '), parallel);
        BatchBlock<string> batch = new(500, new GroupingDataflowBlockOptions { BoundedCapacity = 2_000 });
        ActionBlock<string[]> count = new(words =>
        {
            foreach (string word in words)
            {
                counts[word] = counts.GetValueOrDefault(word) + 1;
            }
        });

        DataflowLinkOptions link = new() { PropagateCompletion = true };
        normalize.LinkTo(split, link);
        split.LinkTo(batch, link);
        batch.LinkTo(count, link);

        for (int i = 0; i < lines; i++)
        {
            await normalize.SendAsync($" The quick fox and the number {i % 10} ");
        }

        normalize.Complete();
        await count.Completion;
        Console.WriteLine($"{counts.Values.Sum()} words, {counts.Count} different, \"the\" {counts["the"]} times, by {normalize.GetType().Namespace}");
    }
}
