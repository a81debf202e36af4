using System.Collections.Immutable;
using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Does everything take an array whose items are of a more exact type than its own?</summary>
public class CovariantSourceTests
{
    private static readonly ParallelRunOptions Options = new() { MaxDegreeOfParallelism = 3 };

    public static TheoryData<string> Kinds => ["array", "segment", "immutable", "list", "typed list"];

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Kinds))]
    public async Task Operators_CovariantSource_GiveEachItemOnce(string kind)
    {
        string[] items = [.. Enumerable.Range(0, 500).Select(static i => $"{i}")];
        IEnumerable<object> source = Of(kind, items);
        Func<object, CancellationToken, ValueTask<string>> selector = static (item, _) => new((string)item);
        Func<IReadOnlyList<object>, CancellationToken, ValueTask<string>> ofBatch = static (batch, _) => new(string.Join(',', batch.Cast<string>()));
        string[] batches = [.. items.Chunk(7).Select(static batch => string.Join(',', batch))];

        Assert.Equal(items, await source.SelectParallelAsync(selector, Options).WithinAsync());
        Assert.Equal(items, await source.PartitionBy(static x => x.GetHashCode() % 5).SelectParallelAsync(selector, Options).WithinAsync());
        Assert.Equal(items, (await source.SelectParallelOutcomesAsync(selector, Options).WithinAsync()).Select(static o => o.Value));
        Assert.Equal(items, await OperatorRunner.GatherAsync(source.SelectParallelStreamAsync(selector, Options with { OrderedOutput = true })).WithinAsync());
        Assert.Equal(batches, await source.BatchParallelAsync(7, ofBatch, Options).WithinAsync());
        Assert.Equal(batches, await source.PartitionBatchesBy(static batch => batch.Count).BatchParallelAsync(7, ofBatch, Options).WithinAsync());
        Assert.Equal(
            batches, await OperatorRunner.GatherAsync(source.BatchParallelStreamAsync(7, ofBatch, Options with { OrderedOutput = true })).WithinAsync());
        int calls = 0;
        await source.ForEachParallelAsync((_, _) => { Interlocked.Increment(ref calls); return default; }, Options).WithinAsync();
        Assert.Equal(items.Length, calls);
    }

    [Theory(Timeout = 60_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task Runtimes_CovariantList_GiveAnOutcomeForEachItem(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        string[] items = [.. Enumerable.Range(0, 500).Select(static i => $"{i}")];
        foreach (string kind in Kinds)
        {
            var source = (IReadOnlyList<object>)Of(kind, items);
            ItemOutcome<object, string>[] outcomes =
                await RuntimeRun.Start(form, runtime, source, static (item, _) => new ValueTask<string>((string)item)).WithinAsync(kind);
            Assert.Equal(items, outcomes.Select(static o => o.Value));
            Assert.Equal(items, outcomes.Select(static o => (string)o.Item));
        }
    }

    private static IEnumerable<object> Of(string kind, string[] items) => kind switch
    {
        "array" => items,
        "segment" => new ArraySegment<object>(items),
        "immutable" => ImmutableArray<object>.CastUp(items.ToImmutableArray()),
        "list" => new List<object>(items),
        _ => new List<string>(items),
    };
}
