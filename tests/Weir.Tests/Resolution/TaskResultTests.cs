using Weir.Runtimes;
using Weir.Tests.Runtimes;

namespace Weir.Tests.Resolution;

/// <summary>Tasks as results, which nobody would await: they are refused where their type says what they are, and fail their item otherwise.</summary>
public class TaskResultTests
{
    private static readonly int[] Items = [1, 2, 3];

    [Fact]
    public void Operators_ResultsThatAreTasks_AreRefusedAtTheCallByName()
    {
        Refused("selector", static () => Items.SelectParallelAsync(static x => Task.Factory.StartNew(static () => Task.FromResult(1))));
        Refused("selector", static () => Items.SelectParallelAsync(static x => Task.Factory.StartNew(static async () => { await Task.Yield(); })));
        Refused("selector", static () => Items.SelectParallelAsync(static async (x, token) => { await Task.Yield(); return Task.FromResult(x); }));
        Refused(
            "selector",
            static () => Items.PartitionBy(static x => x).SelectParallelAsync(static async (x, token) => { await Task.Yield(); return Task.FromResult(x); }));
        Refused("selector", static () => Items.SelectParallelAsync(static async x => { await Task.Yield(); return ValueTask.FromResult(x); }));
        Refused("selector", static () => Items.SelectParallelOutcomesAsync(static async (x, token) => { await Task.Yield(); return Task.CompletedTask; }));
        Refused("selector", static () => Items.SelectParallelStreamAsync(static x => Task.FromResult(Task.FromResult(x))));
        Refused("selector", static () => Items.SelectParallelOutcomesStreamAsync(static x => Task.FromResult(Task.FromResult(x))));
        Refused("batchSelector", static () => Items.BatchParallelAsync(2, static batch => Task.FromResult(Task.FromResult(batch.Count))));
        Refused("batchSelector", static () => Items.BatchParallelStreamAsync(2, static batch => Task.FromResult(Task.FromResult(batch.Count))));
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimeCases.Every), MemberType = typeof(RuntimeCases))]
    public async Task Runtimes_ResultsThatAreTasks_AreRefusedAtTheCallByName(string name)
    {
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        Refused("processor", () => runtime.ProcessManyAsync(Items, static x => Task.FromResult(Task.FromResult(x))));
        Refused("processor", () => runtime.ProcessManyAsync(Items.PartitionBy(static x => x), static x => Task.FromResult(Task.FromResult(x))));
        Refused("processor", () => runtime.ProcessManyStreamAsync(Items, static async (x, token) => { await Task.Yield(); return Task.FromResult(x); }));
        Refused("processor", () => runtime.ProcessManyStreamAsync(Items.PartitionBy(static x => x), static x => Task.FromResult(Task.FromResult(x))));
    }

    [Fact(Timeout = 90_000)]
    public async Task Operators_ResultsOfTypeObjectThatAreTasks_FailTheirItems()
    {
        ItemOutcome<int, object>[] outcomes = await Items.SelectParallelOutcomesAsync(static object (x) => x switch
        {
            1 => Task.FromResult(x),
            2 => ValueTask.FromResult(x),
            _ => x,
        });
        Assert.All(
            outcomes[..2], static o => Assert.Contains("is a task", Assert.IsType<InvalidOperationException>(o.Error).Message, StringComparison.Ordinal));
        Assert.Equal(3, outcomes[2].Value);
    }

    [Fact(Timeout = 90_000)]
    public async Task Operators_ResultsThatHoldTasks_AreResults()
    {
        List<(int Item, Task<int> Task)> all = await Items.SelectParallelAsync(static x => (x, Task.FromResult(x)));
        Assert.Equal(Items, all.Select(static a => a.Item));
        Assert.Equal([null, "a"], await new object?[] { null, "a" }.SelectParallelAsync(static object? (x) => x));
    }

    private static void Refused(string argument, Func<object> call) =>
        Assert.StartsWith(
            "The results of the call are tasks", Assert.Throws<ArgumentException>(argument, () => { _ = call(); }).Message, StringComparison.Ordinal);
}
