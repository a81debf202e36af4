using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Budgets;

namespace Weir.Tests.Observability;

/// <summary>Who begins to listen while runs are under way. Alone, because the meter is one for the whole process.</summary>
[Collection(nameof(Alone))]
public sealed class LateListenerTests
{
    private readonly string _name = $"late.{Guid.NewGuid():N}";

    public static TheoryData<string> Shapes() =>
    [
        "list", "one item", "one at a time", "outcomes", "action", "stream", "lanes", "retries", "progress",
        "direct", "concurrent", "parallel", "auto", "direct stream", "concurrent stream", "auto stream",
    ];

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Shapes))]
    public async Task Listener_ThatComesDuringARun_SeesIt(string shape)
    {
        using Gate gate = new();
        using Gate inside = new();
        int items = shape == "one item" ? 1 : 5;
        Task run = Start(shape, items, async (x, token) =>
        {
            inside.Open();
            await gate.WaitAsync(token);
            return x;
        });
        await inside.WaitAsync();

        using (RunListener late = new(_name))
        {
            // Where no run was listened to from its start, the instruments are made some seconds after the first run of the process.
            await Guard.UntilAsync(() => late.Observe().ContainsKey("weir.runs.active"), "the instruments");
            Dictionary<string, long> during = late.Observe();
            Assert.Equal(1, during["weir.runs.active"]);
            Assert.InRange(during["weir.concurrency.limit"], 1, 1000);
            Assert.Equal(0, during["weir.items succeeded"]);

            // A worker that has just parked its call is on its way for a moment, and counted as if it had another item.
            await Guard.UntilAsync(() => late.Observe()["weir.items.active"] is var active && active >= 1 && active <= items, "the items inside their calls");

            gate.Open();
            await run;
            Dictionary<string, long> after = late.Observe();
            Assert.Equal(0, after["weir.runs.active"]);
            Assert.Equal(0, after["weir.items.active"]);
            Assert.Equal(items, after["weir.items succeeded"]);
            Assert.Equal(1, late.Durations);
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task Counters_SeenByAListenerThatLeft_AreNoLessForTheNext()
    {
        using Gate gate = new();
        using Gate last = new();
        int ended = 0;
        Task run = Enumerable.Range(0, 3).ForEachParallelAsync(
            async (x, token) =>
            {
                await (x == 2 ? last : gate).WaitAsync(token);
                Interlocked.Increment(ref ended);
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 3, OperationName = _name });
        gate.Open();
        using (RunListener first = new(_name))
        {
            await Guard.UntilAsync(() => first.Observe().GetValueOrDefault("weir.items succeeded") == 2, "two items");
        }

        last.Open();
        await run;
        using RunListener second = new(_name);
        Assert.Equal(3, second.Observe()["weir.items succeeded"]);
    }

    [Fact(Timeout = 90_000)]
    public async Task Run_ThatNobodySaw_IsNotCountedAndNotKept()
    {
        await Enumerable.Range(0, 3).ForEachParallelAsync(static (_, _) => default, new ParallelRunOptions { OperationName = _name });
        using RunListener late = new(_name);
        Assert.Empty(late.Observe());
    }

    // The instruments are the platform's, which the explorer does not see.
    [Fact(Timeout = 90_000)]
    public async Task Counters_WhileRunsComeAndGo_NeverDecrease()
    {
        using RunListener listener = new(_name);
        Task[] callers = [.. Enumerable.Range(0, 3).Select(_ => Task.Run(async () =>
        {
            for (int i = 0; i < 300; i++)
            {
                await Enumerable.Range(0, 5).ForEachParallelAsync(
                    static async (_, _) => await Task.Yield(), new ParallelRunOptions { OperationName = _name, MaxDegreeOfParallelism = 2 });
            }
        }))];
        Task all = Task.WhenAll(callers);
        long before = 0;
        while (!all.IsCompleted)
        {
            long now = listener.Observe().GetValueOrDefault("weir.items succeeded");
            Assert.True(now >= before, $"{now} after {before}");
            before = now;
            await Task.Yield();
        }

        await all;
        Dictionary<string, long> after = listener.Observe();
        Assert.Equal(3 * 300 * 5, after["weir.items succeeded"]);
        Assert.Equal(0, after["weir.runs.active"]);
        Assert.Equal(900, listener.Durations);
    }

    private Task Start(string shape, int items, Func<int, CancellationToken, ValueTask<int>> call)
    {
        int[] source = [.. Enumerable.Range(0, items)];
        ParallelRunOptions options = new() { OperationName = _name, MaxDegreeOfParallelism = 4 };
        ProcessManyOptions many = new() { OperationName = _name };
        return shape switch
        {
            "list" => source.SelectParallelAsync(call, options),
            "one item" => source.SelectParallelAsync(call, options),
            "one at a time" => Lazily(source).SelectParallelAsync(call, options with { MaxDegreeOfParallelism = 1 }),
            "outcomes" => source.SelectParallelOutcomesAsync(call, options),
            "action" => source.ForEachParallelAsync(async (x, token) => await call(x, token), options),
            "stream" => Drain(source.SelectParallelStreamAsync(call, options)),
            "lanes" => source.PartitionBy(static x => x % 2).SelectParallelAsync(call, options),
            "retries" => source.SelectParallelAsync(call, options with { MaxRetries = 2 }),
            "progress" => source.SelectParallelAsync(call, options with { Progress = new ProgressOptions { OnProgressAsync = static _ => default } }),
            "direct" => new DirectRuntime().ProcessManyAsync(source, call, many),
            "concurrent" => new ConcurrentRuntime(3).ProcessManyAsync(source, call, many),
            "parallel" => new ParallelRuntime(2).ProcessManyAsync(source, call, many),
            "auto" => new AutoRuntime(8).ProcessManyAsync(source, call, many),
            "direct stream" => Drain(new DirectRuntime().ProcessManyStreamAsync(source, call, options: many)),
            "concurrent stream" => Drain(new ConcurrentRuntime(3).ProcessManyStreamAsync(source, call, options: many)),
            _ => Drain(new AutoRuntime(8).ProcessManyStreamAsync(source, call, options: many)),
        };
    }

    private static IEnumerable<int> Lazily(int[] source) => source.Where(static _ => true);

    private static async Task Drain<T>(IAsyncEnumerable<T> results)
    {
        await foreach (T _ in results)
        {
        }
    }
}
