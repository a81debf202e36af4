namespace Weir.Lab.Runtimes;

/// <summary>One row of a published table, and how the same work is done here.</summary>
/// <param name="Table">The table.</param>
/// <param name="Name">The row's name, as published.</param>
/// <param name="Published">Published times and bytes on .NET 8 and 9, as they stand there.</param>
/// <param name="Expected">The sum of the results.</param>
/// <param name="Weir">Weir's way, which gives the sum; <see langword="null"/> for a row that only compares.</param>
/// <param name="Platform">The platform's way: Parallel.ForEachAsync, or what the row itself names; <see langword="null"/> if it has none.</param>
internal sealed record TableRow(
    string Table, string Name, PublishedFigures Published, long Expected, Func<Task<long>>? Weir, Func<Task<long>>? Platform);
