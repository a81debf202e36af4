using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>Does every runtime take every type of list, also an empty one?</summary>
public class RuntimeListTests
{
    [Theory(Timeout = 60_000)]
    [MemberData(nameof(RuntimeCases.EveryForm), MemberType = typeof(RuntimeCases))]
    public async Task List_OfAnyType_GivesAnOutcomeForEachItem(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (string type in Sequences.ListNames)
        {
            foreach (int count in new[] { 0, 1, 2, 300, 1000 })
            {
                var items = (IReadOnlyList<int>)Sequences.Of(type, count);
                int[] expected = [.. Enumerable.Range(0, count).Select(static x => 2 * x)];
                ItemOutcome<int, int>[] plain = await RuntimeRun.Start(form, runtime, items, Selectors.Twice).WithinAsync($"{count} items in {type}");
                ItemOutcome<int, int>[] keyed = await RuntimeRun.Start(form, runtime, items.PartitionBy(static x => x % 7), Selectors.Twice)
                    .WithinAsync($"{count} items with keys in {type}");
                Assert.Equal(expected, plain.Select(static o => o.Value));
                Assert.Equal(expected, keyed.Select(static o => o.Value));
            }
        }
    }
}
