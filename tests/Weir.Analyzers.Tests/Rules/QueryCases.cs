namespace Weir.Analyzers.Tests.Rules;

internal static class QueryCases
{
    public static RuleCases All { get; } = new(
        "WEIR011",
        [
            "await [|orders.Numbers|].SelectParallelAsync(Work.LoadAsync);",
            "await [|orders.Sorted|].SelectParallelAsync((x, t) => Work.LoadAsync(x, t));",
            "await [|orders.Numbers.Where(n => n > 1)|].SelectParallelAsync(Work.LoadAsync);",
            "await [|orders.Numbers.Select(n => n + 1).Take(10)|].ForEachParallelAsync(x => Work.SaveAsync(x));",
            "await ParallelOperators.ForEachParallelAsync([|orders.Numbers|], x => Work.SaveAsync(x));",
            "await foreach (int x in [|orders.Numbers|].SelectParallelStreamAsync(Work.LoadAsync)) { }",
            "await [|orders.Numbers|].BatchParallelAsync(100, b => b.Count);",
            "await [|orders.Numbers|].SelectParallelOutcomesAsync(Work.LoadAsync);",
            "await [|orders.Numbers|].PartitionBy(x => x % 2).SelectParallelAsync(Work.LoadAsync);",
            "IQueryable<int> query = orders.Sorted; await [|query|].SelectParallelAsync(Work.LoadAsync);",
            "await ([|from n in orders.Numbers where n > 1 select n|]).SelectParallelAsync(Work.LoadAsync);",
            "await runtime.ProcessManyAsync([|orders.Numbers|], Work.LoadAsync);",
        ],
        [
            "await items.SelectParallelAsync(Work.LoadAsync);",
            "await later.SelectParallelAsync(Work.LoadAsync);",
            "await items.Where(n => n > 1).SelectParallelAsync(Work.LoadAsync);",
            "await items.AsQueryable().SelectParallelAsync(Work.LoadAsync);",
            "await orders.Numbers.AsEnumerable().SelectParallelAsync(Work.LoadAsync);",
            "await orders.Numbers.ToList().SelectParallelAsync(Work.LoadAsync);",
            "IEnumerable<int> query = orders.Numbers; await query.SelectParallelAsync(Work.LoadAsync);",
            "await Microsoft.EntityFrameworkCore.EntityFrameworkQueryableExtensions.AsAsyncEnumerable(orders.Numbers).SelectParallelAsync(Work.LoadAsync);",
            "var all = await Microsoft.EntityFrameworkCore.EntityFrameworkQueryableExtensions.ToListAsync(orders.Numbers); "
                + "await runtime.ProcessManyAsync(all, Work.LoadAsync);",
            "await items.SelectParallelAsync(x => orders.Numbers.Count(n => n == x));",
            "await items.ForEachParallelAsync(x => { foreach (int n in orders.Numbers) { } });",
        ]);
}
