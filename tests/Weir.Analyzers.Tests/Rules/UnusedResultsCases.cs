namespace Weir.Analyzers.Tests.Rules;

internal static class UnusedResultsCases
{
    public static RuleCases All { get; } = new(
        "WEIR006",
        [
            "await items.[|SelectParallelAsync|]((x, t) => Opened.OpenAsync(x, t));",
            "await items.[|SelectParallelAsync|](Opened.ReadAsync);",
            "await items.[|SelectParallelAsync|](x => Opened.Get(x));",
            "await items.[|SelectParallelAsync|](Opened.ReadAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 3 });",
            "await items.[|SelectParallelAsync|](Opened.ReadAsync, new() { MaxDegreeOfParallelism = 3 });",
            "await items.[|SelectParallelAsync|](Opened.ReadAsync, null, stop);",
            "await items.[|SelectParallelAsync|](Opened.ReadAsync, new() { Output = new() { ChannelCapacity = 8 } });",
            "await items.[|SelectParallelOutcomesAsync|](Opened.OpenAsync);",
            "await foreach (Open o in items.[|SelectParallelStreamAsync|](Opened.OpenAsync)) { }",
            "await items.[|BatchParallelAsync|](2, (b, t) => Opened.OpenAsync(b[0], t));",
            "await later.[|SelectParallelAsync|](Opened.OpenAsync);",
            "await runtime.[|ProcessManyAsync|](items, Opened.OpenAsync);",
            "await concurrent.[|ProcessManyAsync|](items, Opened.OpenAsync, new ProcessManyOptions { PerItemTimeout = null });",
        ],
        [
            "await items.SelectParallelAsync(Work.LoadAsync);",
            "await items.SelectParallelAsync(x => x.ToString());",
            "await items.SelectParallelAsync(Opened.OpenAsync, new ParallelRunOptions { Output = new() { DisposeUnusedResults = true } });",
            "await items.SelectParallelAsync(Opened.OpenAsync, new() { Output = new() { DisposeUnusedResults = false } });",
            "OutputOptions o = new(); await items.SelectParallelAsync(Opened.OpenAsync, new() { Output = o });",
            "ParallelRunOptions o = new(); await items.SelectParallelAsync(Opened.OpenAsync, o);",
            "ParallelRunOptions o = new(); await items.SelectParallelAsync(Opened.OpenAsync, o with { MaxDegreeOfParallelism = 2 });",
            "await items.ForEachParallelAsync(async (x, t) => { await using Open o = await Opened.OpenAsync(x, t); });",
            "await items.ForEachParallelAsync((x, t) => Work.SaveAsync(x));",
            "await items.SelectParallelAsync(async (x, t) => { await using Open o = await Opened.OpenAsync(x, t); return x; });",
            "await runtime.ProcessManyAsync(items, Opened.OpenAsync, new ProcessManyOptions { DisposeUnusedResults = true });",
            "await runtime.ProcessManyAsync(items, Work.LoadAsync);",
            "await items.SelectParallelAsync(x => new object());",
        ]);
}
