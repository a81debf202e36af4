using Weir.Runtimes;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Observability;

/// <summary>The items that a source is known to have and that nobody has read yet.</summary>
public sealed class BacklogTests
{
    private const string Backlog = "weir.items.backlog";

    [Theory(Timeout = 90_000)]
    [InlineData("array")]
    [InlineData("list")]
    [InlineData("concurrent")]
    [InlineData("parallel")]
    [InlineData("auto")]
    [InlineData("direct")]
    [InlineData("direct stream")]
    public async Task Backlog_ListWhoseItemsWait_IsWhatWasNotRead(string kind)
    {
        string name = $"backlog of {kind}";
        using RunListener listener = new(name);
        using Gate gate = new();
        int inside = 0;
        Task run = RunAsync(kind, name, async token =>
        {
            Interlocked.Increment(ref inside);
            await gate.WaitAsync(token);
        });
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 1, "the first item");

        await Guard.UntilAsync(() => listener.Observe()[Backlog] == 19, "the backlog");
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(0, listener.Observe()[Backlog]);
    }

    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Backlog_WorkQueue_IsWhatItHas(bool isRuntimes)
    {
        string name = $"backlog of a queue {isRuntimes}";
        using RunListener listener = new(name);
        using Gate gate = new();
        WorkQueue<int> queue = new();
        queue.AddRange(Enumerable.Range(0, 10));
        await using ConcurrentRuntime runtime = new(2);
        Task run = isRuntimes
            ? runtime.ProcessManyAsync(
                queue.AsEnumerable(),
                async (item, token) =>
                {
                    await gate.WaitAsync(token);
                    return item;
                },
                new ProcessManyOptions { OperationName = name })
            : queue.ForEachParallelAsync(
                async (_, token) => await gate.WaitAsync(token), new ParallelRunOptions { MaxDegreeOfParallelism = 2, OperationName = name });
        await Guard.UntilAsync(() => queue.Running == 2 && listener.Observe()[Backlog] == queue.Count, "the first items");
        Assert.Equal(8, listener.Observe()[Backlog]);
        queue.AddRange([10, 11, 12]);
        Assert.Equal(11, listener.Observe()[Backlog]);
        gate.Open();
        await run.WithinAsync();
        Assert.Equal(0, listener.Observe()[Backlog]);
    }

    [Fact(Timeout = 90_000)]
    public async Task Backlog_SequenceOfUnknownLength_IsNotKnown()
    {
        const string Name = "backlog of a sequence";
        using RunListener listener = new(Name);
        using Gate gate = new();
        Task run = Enumerable.Range(0, 20).Where(static x => x >= 0).ForEachParallelAsync(
            async (_, token) => await gate.WaitAsync(token), new ParallelRunOptions { MaxDegreeOfParallelism = 1, OperationName = Name });
        await Guard.UntilAsync(() => listener.Observe().GetValueOrDefault("weir.items.active") == 1, "the first item");
        Assert.Equal(0, listener.Observe()[Backlog]);
        gate.Open();
        await run.WithinAsync();
    }

    private static async Task RunAsync(string kind, string name, Func<CancellationToken, ValueTask> call)
    {
        int[] items = [.. Enumerable.Range(0, 20)];
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, OperationName = name };
        if (kind is "array" or "list")
        {
            await (kind == "array" ? items.ForEachParallelAsync((_, token) => call(token), options)
                : items.ToList().ForEachParallelAsync((_, token) => call(token), options));
            return;
        }

        string stream = " stream";
        await using IExecutionRuntime runtime = RuntimeCases.Create($"{kind.Replace(stream, "", StringComparison.Ordinal)} 1");
        await RuntimeRun.AllAsync(
            kind.EndsWith(stream, StringComparison.Ordinal) ? RunForm.OrderedStream : RunForm.Array,
            runtime,
            items,
            async (x, token) =>
            {
                await call(token);
                return x;
            },
            new ProcessManyOptions { OperationName = name });
    }
}
