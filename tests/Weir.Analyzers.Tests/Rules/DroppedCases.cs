namespace Weir.Analyzers.Tests.Rules;

internal static class DroppedCases
{
    public static RuleCases All { get; } = new(
        "WEIR005",
        [
            "[|items.ForEachParallelAsync((x, t) => Work.SaveAsync(x))|];",
            "[|items.SelectParallelAsync(Work.LoadAsync)|];",
            "[|runtime.ProcessManyAsync(items, Work.LoadAsync)|];",
            "[|concurrent.ProcessManyAsync(items, x => x)|];",
            "[|items.SelectParallelStreamAsync(Work.LoadAsync)|];",
            "await items.ForEachParallelAsync(x => { [|Work.SaveAsync(x)|]; });",
            "await items.ForEachParallelAsync(async (x, t) => { [|Work.SaveAsync(x)|]; await Task.Yield(); });",
            "await items.SelectParallelAsync((x, t) => { [|Work.ValueAsync(x, t)|]; return new ValueTask<int>(x); });",
            "await items.SelectParallelAsync([|x => Work.SaveAsync(x)|]);",
            "await items.SelectParallelAsync([|async x => { await Work.SaveAsync(x); }|]);",
            "void Local() { [|items.ForEachParallelAsync(x => { })|]; } Local();",
            "[|items.BatchParallelAsync(2, b => b.Count)|];",
        ],
        [
            "await items.ForEachParallelAsync((x, t) => Work.SaveAsync(x));",
            "_ = items.ForEachParallelAsync((x, t) => Work.SaveAsync(x));",
            "Task run = items.SelectParallelAsync(Work.LoadAsync); await run;",
            "await Task.WhenAll(items.SelectParallelAsync(Work.LoadAsync), items.ForEachParallelAsync(x => Work.SaveAsync(x)));",
            "await items.ForEachParallelAsync(async (x, t) => { await Work.SaveAsync(x); });",
            "await items.ForEachParallelAsync(x => { _ = Work.SaveAsync(x); });",
            "await foreach (int r in items.SelectParallelStreamAsync(Work.LoadAsync)) { }",
            "await items.ForEachParallelAsync(x => Work.SaveAsync(x));",
            "await items.SelectParallelAsync(async (x, t) => { int y = await Work.LoadAsync(x, t); return y; });",
            "await items.ForEachParallelAsync(x => { Console.WriteLine(x); Work.Compute(x); });",
            "Work.SaveAsync(1).Wait(); await runtime.ProcessManyAsync(items, x => { return x; });",
        ]);
}
