namespace Weir.Analyzers.Tests.Rules;

internal static class UnseenLossCases
{
    private const string Mode = "ErrorMode = ErrorMode.BestEffort";

    public static RuleCases All { get; } = new(
        "WEIR012",
        [
            "await items.SelectParallelAsync(Work.LoadAsync, new ParallelRunOptions { ErrorMode = [|ErrorMode.BestEffort|] });",
            "await items.ForEachParallelAsync(x => Work.SaveAsync(x), new() { ErrorMode = [|ErrorMode.BestEffort|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { ErrorMode = [|ErrorMode.BestEffort|], PerItemTimeout = TimeSpan.FromSeconds(1) });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { ErrorMode = [|ErrorMode.BestEffort|], MaxRetries = 3 });",
            "await foreach (int x in items.SelectParallelStreamAsync(Work.LoadAsync, new() { ErrorMode = [|ErrorMode.BestEffort|] })) { }",
            "await foreach (int x in later.SelectParallelStreamAsync(Work.LoadAsync, new() { ErrorMode = [|ErrorMode.BestEffort|] })) { }",
            "await items.BatchParallelAsync(2, b => b.Count, new() { ErrorMode = [|ErrorMode.BestEffort|], MaxDegreeOfParallelism = 2 });",
            "await items.PartitionBy(x => x % 2).SelectParallelAsync(Work.LoadAsync, new() { ErrorMode = [|ErrorMode.BestEffort|] });",
            "await later.ForEachParallelAsync((x, t) => Work.SaveAsync(x), new() { ErrorMode = [|ErrorMode.BestEffort|], Retry = new() });",
            "await items.ForEachParallelAsync(x => Work.Compute(x), new() { ErrorMode = [|ErrorMode.BestEffort|], OnStartItemAsync = i => default });",
        ],
        [
            "await items.SelectParallelAsync(Work.LoadAsync);",
            "await items.SelectParallelAsync(Work.LoadAsync, new ParallelRunOptions { ErrorMode = ErrorMode.CollectAndContinue });",
            $"await items.SelectParallelAsync(Work.LoadAsync, new() {{ {Mode}, OnErrorAsync = (i, e) => new(true) }});",
            $"await items.SelectParallelAsync(Work.LoadAsync, new() {{ {Mode}, Hooks = new() {{ OnErrorAsync = (i, e) => new(true) }} }});",
            $"await items.SelectParallelAsync(Work.LoadAsync, new() {{ {Mode}, Hooks = new ItemHooks<int> {{ OnErrorAsync = a => new(true) }} }});",
            $"await items.SelectParallelAsync(Work.LoadAsync, new() {{ {Mode}, Progress = new() {{ OnProgressAsync = p => default }} }});",
            $"await items.SelectParallelAsync(Work.LoadAsync, new() {{ {Mode}, Metrics = new() {{ OnMetricsSample = p => default }} }});",
            $"await items.SelectParallelAsync(Work.LoadAsync, new() {{ {Mode}, OnFallback = Fallback.Of((i, e) => -1) }});",
            $"await items.SelectParallelAsync(Work.LoadAsync, new() {{ {Mode}, OnCompleteItemAsync = i => default }});",
            $"var seen = new ParallelRunOptions(); await items.SelectParallelAsync(Work.LoadAsync, seen with {{ {Mode} }});",
            $"var options = new ParallelRunOptions {{ {Mode} }}; await items.SelectParallelAsync(Work.LoadAsync, options);",
            $"await items.SelectParallelOutcomesAsync(Work.LoadAsync, new() {{ {Mode} }});",
        ]);
}
