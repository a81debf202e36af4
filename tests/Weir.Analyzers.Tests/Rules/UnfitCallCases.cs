namespace Weir.Analyzers.Tests.Rules;

/// <summary>Of a rule about code that does not compile.</summary>
internal static class UnfitCallCases
{
    private const string Half = "int Half(int x, int by = 2) => x / by; ";

    private const string Sum = "int Sum(params int[] all) => all.Sum(); ";

    private const string Load = "Task<int> Load(int x, int by = 2, CancellationToken stopping = default) => Task.FromResult(x / by); ";

    public static RuleCases All { get; } = new(
        "WEIR007",
        [
            Half + "await items.SelectParallelAsync([|Half|]);",
            Half + "await items.SelectParallelOutcomesAsync([|Half|], new ParallelRunOptions { MaxRetries = 1 });",
            Half + "await runtime.ProcessManyAsync(items, [|Half|]);",
            Half + "await foreach (int x in items.SelectParallelStreamAsync([|Half|])) { }",
            Sum + "await items.SelectParallelAsync([|Sum|]);",
            Sum + "await items.ForEachParallelAsync([|Sum|], 4, stop);",
            Load + "await items.SelectParallelAsync([|Load|]);",
            Load + "await later.ForEachParallelAsync([|Load|]);",
            "int All(IReadOnlyList<int> all, int from = 0) => all.Count; await items.BatchParallelAsync(2, [|All|]);",
            "await items.SelectParallelAsync([|() => 1|]);",
            "await items.SelectParallelAsync([|(x, i, t) => x|]);",
            "await runtime.ProcessManyAsync(items, [|(x, i, t) => x|]);",
            "Channel<int> channel = Channel.CreateUnbounded<int>(); await [|channel|].SelectParallelAsync(x => x);",
            "await [|Channel.CreateBounded<int>(9)|].ForEachParallelAsync(x => { });",
            "_ = new ProgressOptions { OnProgressAsync = [|p => Console.WriteLine(p)|] };",
            "_ = new ParallelRunOptions { Hooks = new() { OnStartItemAsync = [|index => { Console.WriteLine(index); }|] } };",
            "_ = new ItemHooks<int> { OnRetryAsync = [|(item) => Console.WriteLine(item)|] };",
        ],
        [
            "await items.SelectParallelAsync(Work.LoadAsync);",
            "await items.SelectParallelAsync(Work.Compute);",
            "await items.SelectParallelAsync(Work.ValueAsync, 4, stop);",
            "await items.SelectParallelAsync((x, t) => x);",
            "await items.ForEachParallelAsync((x, t) => { });",
            "await items.ForEachParallelAsync(x => Work.Compute(x));",
            "await items.ForEachParallelAsync(db.InsertAsync);",
            "await runtime.ProcessManyAsync(items, Work.SaveAsync);",
            Half + "await items.SelectParallelAsync(x => Half(x));",
            Load + "await items.SelectParallelAsync((x, token) => Load(x, stopping: token));",
            Sum + "await items.SelectParallelAsync(x => Sum(x));",
            "Channel<int> channel = Channel.CreateUnbounded<int>(); await channel.Reader.SelectParallelAsync(x => x);",
            "_ = new ProgressOptions { OnProgressAsync = async p => await Task.Yield() };",
            "_ = new ProgressOptions { OnProgress = p => Console.WriteLine(p) };",
            "_ = new ProgressOptions { OnProgressAsync = p => { Console.WriteLine(p); return default; } };",
            "_ = new ProgressOptions { OnProgressAsync = p => throw new InvalidOperationException() };",
            "Action<int> note; note = x => Console.WriteLine(x); note(1);",
        ]);
}
