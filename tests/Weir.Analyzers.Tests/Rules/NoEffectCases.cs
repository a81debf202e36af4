namespace Weir.Analyzers.Tests.Rules;

internal static class NoEffectCases
{
    public static RuleCases All { get; } = new(
        "WEIR010",
        [
            "await items.SelectParallelAsync(Work.LoadAsync, new ParallelRunOptions { [|OrderedOutput = true|] });",
            "await items.ForEachParallelAsync(x => Work.SaveAsync(x), new() { [|OrderedOutput = true|] });",
            "var own = new ParallelRunOptions(); await items.SelectParallelAsync(Work.LoadAsync, own with { [|OrderedOutput = true|], MaxRetries = 1 });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|ChannelCapacity = 8|], [|OnThrottleAsync = n => default|] });",
            "await items.BatchParallelAsync(2, b => b.Count, new() { [|OnDrainAsync = n => default|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|MaxRetries = 2|], Retry = new() { BaseDelay = TimeSpan.Zero } });",
            "await items.PartitionBy(x => x).SelectParallelAsync(Work.LoadAsync, new() { [|ChannelCapacity = 2|], Output = new() });",
            "await items.SelectParallelAsync("
                + "Work.LoadAsync, new() { Output = new() { [|ReturnOutcomesOnCancellation = true|], [|IncludeDetails = true|], [|ChannelCapacity = 2|] } });",
            "await items.SelectParallelOutcomesAsync(Work.LoadAsync, new() { [|ErrorMode = ErrorMode.CollectAndContinue|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|MaxDegreeOfParallelism = 8|], AdaptiveConcurrency = new() });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|ShouldRetry = RetryRule.Of<int>(o => true)|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|IsTransient = e => true|], [|BaseDelay = TimeSpan.FromSeconds(1)|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|OnRetryAsync = (i, n, e) => default|], [|IsTransient = e => true|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|BackoffStrategy = Weir.Resilience.BackoffStrategy.Linear|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|OpenCircuitMode = Weir.Resilience.OpenCircuitMode.WaitForHalfOpen|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|Progress = new ProgressOptions { ReportInterval = TimeSpan.FromSeconds(1) }|] });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { [|Metrics = new()|] });",
            "await runtime.ProcessManyAsync(items, x => x, new ProcessManyOptions { Policies = new() { Output = new() { [|IncludeDetails = true|] } } });",
            "await runtime.ProcessManyAsync(items, x => x, new() { Policies = new() { Metrics = new() { [|Tags = [new(\"a\", 1)]|] } } });",
            "await runtime.ProcessManyAsync(items, Work.LoadAsync, new ProcessManyOptions { Policies = new() { [|MaxDegreeOfParallelism = 2|] } });",
            "await concurrent.ProcessManyAsync(items, x => x, new() { Policies = new() { [|ErrorMode = ErrorMode.FailFast|], [|IsTransient = e => true|] } });",
        ],
        [
            "await items.SelectParallelAsync(Work.LoadAsync, new ParallelRunOptions { MaxRetries = 3, BaseDelay = TimeSpan.Zero });",
            "await foreach (int x in items.SelectParallelStreamAsync(Work.LoadAsync, new() { OrderedOutput = true, ChannelCapacity = 8 })) { }",
            "await foreach (var x in items.SelectParallelOutcomesStreamAsync("
                + "Work.LoadAsync, new() { Output = new() { IncludeDetails = true }, Hooks = new() { OnThrottleAsync = n => default } })) { }",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { OrderedOutput = false, Output = new() { IncludeDetails = false } });",
            "await items.PartitionBy(x => x).SelectParallelAsync(Work.LoadAsync, new() { ChannelCapacity = 8 });",
            "await items.SelectParallelOutcomesAsync(Work.LoadAsync, new() { Output = new() { ReturnOutcomesOnCancellation = true, IncludeDetails = true } });",
            "var own = new ParallelRunOptions { MaxRetries = 3 }; await items.SelectParallelAsync(Work.LoadAsync, own with { BaseDelay = TimeSpan.Zero });",
            "var options = new ParallelRunOptions { OrderedOutput = true }; await items.SelectParallelAsync(Work.LoadAsync, options);",
            "int n = 0; await items.SelectParallelAsync(Work.LoadAsync, new() { MaxRetries = n, IsTransient = e => true });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { MaxRetries = 0, BaseDelay = TimeSpan.Zero });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { Retry = new() { IsTransient = e => true } });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { Retry = new(), MaxRetries = 1, ShouldRetry = RetryRule.Of<int>(o => true) });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { Metrics = new() { Tags = [new(\"a\", 1)] } });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { AdaptiveConcurrency = null, MaxDegreeOfParallelism = 4 });",
            "await items.SelectParallelAsync("
                + "Work.LoadAsync, new() { CircuitBreaker = new Weir.Resilience.CircuitBreaker(), "
                + "OpenCircuitMode = Weir.Resilience.OpenCircuitMode.WaitForHalfOpen });",
            "await items.SelectParallelAsync(Work.LoadAsync, new() { Progress = new() { OnProgressAsync = p => default }, IsTransient = null });",
            "var reports = new ProgressOptions(); await items.SelectParallelAsync(Work.LoadAsync, new() { Progress = reports });",
            "await runtime.ProcessManyAsync(items, Work.LoadAsync, new ProcessManyOptions { Policies = new() { MaxRetries = 3, IsTransient = e => true } });",
        ]);
}
