using Weir.Runtimes;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>Does every runtime take every type of list, also an empty one?</summary>
public class RuntimeListTests
{
    public static TheoryData<string, RunForm> Cases => RuntimeCases.EveryForm();

    [Theory(Timeout = 60_000)]
    [MemberData(nameof(Cases))]
    public async Task List_OfAnyType_GivesAnOutcomeForEachItem(string name, RunForm form)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        foreach (string type in Sequences.ListNames)
        {
            foreach (int count in new[] { 0, 1, 300 })
            {
                var items = (IReadOnlyList<int>)Sequences.Of(type, count);
                int[] expected = [.. Enumerable.Range(0, count).Select(static x => 2 * x)];
                ItemOutcome<int, int>[] plain = await RuntimeRun.Start(form, runtime, items, Selectors.Twice).WithinAsync($"{count} items in {type}");
                ItemOutcome<int, int>[] keyed = await KeyedAsync(form, runtime, items).WithinAsync($"{count} items with keys in {type}");
                Assert.Equal(expected, plain.Select(static o => o.Value));
                Assert.Equal(expected, keyed.Select(static o => o.Value));
            }
        }
    }

    private static async Task<ItemOutcome<int, int>[]> KeyedAsync(RunForm form, IExecutionRuntime runtime, IReadOnlyList<int> items)
    {
        if (form == RunForm.Array)
        {
            return await runtime.ProcessManyAsync(items.PartitionBy(static x => x % 7), Selectors.Twice);
        }

        List<(int Index, ItemOutcome<int, int> Outcome)> outcomes = await OperatorRunner.GatherAsync(
            runtime.ProcessManyStreamAsync(items.PartitionBy(static x => x % 7), Selectors.Twice, form == RunForm.OrderedStream));
        Assert.Equal(Enumerable.Range(0, items.Count),
            form == RunForm.OrderedStream ? outcomes.Select(static o => o.Index) : outcomes.Select(static o => o.Index).Order());
        return [.. outcomes.OrderBy(static o => o.Index).Select(static o => o.Outcome)];
    }
}
