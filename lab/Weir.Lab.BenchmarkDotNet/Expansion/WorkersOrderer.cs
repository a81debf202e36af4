using System.Collections.Immutable;
using BenchmarkDotNet.Order;

namespace Weir.Lab.Benchmarks.Expansion;

/// <summary>Expands each case into one for each number of workers, at the only place where BenchmarkDotNet asks for the list of cases to run.</summary>
/// <remarks>There is one instance: BenchmarkDotNet wants the cases of a summary to have the same orderer.</remarks>
internal sealed class WorkersOrderer : IOrderer
{
    public static readonly WorkersOrderer Instance = new();

    private readonly ToolchainJobs _jobs = new();

    private WorkersOrderer()
    {
    }

    public bool SeparateLogicalGroups => Inner.SeparateLogicalGroups;

    private static IOrderer Inner => RunSettings.Current.Inner ?? DefaultOrderer.Instance;

    /// <inheritdoc/>
    public IEnumerable<BenchmarkCase> GetExecutionOrder(
        ImmutableArray<BenchmarkCase> benchmarksCase, IEnumerable<BenchmarkLogicalGroupRule>? order = null) =>
        Inner.GetExecutionOrder([.. benchmarksCase.Select(_jobs.UseLab).SelectMany(Expand)], order);

    /// <inheritdoc/>
    public IEnumerable<BenchmarkCase> GetSummaryOrder(ImmutableArray<BenchmarkCase> benchmarksCases, Summary summary) =>
        Inner.GetSummaryOrder(benchmarksCases, summary);

    /// <inheritdoc/>
    public string? GetHighlightGroupKey(BenchmarkCase benchmarkCase) => Inner.GetHighlightGroupKey(benchmarkCase);

    /// <inheritdoc/>
    public string? GetLogicalGroupKey(ImmutableArray<BenchmarkCase> allBenchmarksCases, BenchmarkCase benchmarkCase) =>
        Inner.GetLogicalGroupKey(allBenchmarksCases, benchmarkCase);

    /// <inheritdoc/>
    public IEnumerable<IGrouping<string, BenchmarkCase>> GetLogicalGroupOrder(
        IEnumerable<IGrouping<string, BenchmarkCase>> logicalGroups, IEnumerable<BenchmarkLogicalGroupRule>? order = null) =>
        Inner.GetLogicalGroupOrder(logicalGroups, order);

    /// <summary>The numbers of workers that the attributes of a benchmark ask for; none for a benchmark of BenchmarkDotNet alone.</summary>
    internal static IReadOnlyList<int> CountsOf(MethodInfo method, Type type) =>
        CountsOf(method.GetCustomAttributes(inherit: true)) ?? CountsOf(type.GetCustomAttributes(inherit: true)) ?? [];

    private static IReadOnlyList<int>? CountsOf(object[] attributes) => attributes.OfType<IWorkerCounts>().FirstOrDefault()?.Counts;

    private static IEnumerable<BenchmarkCase> Expand(BenchmarkCase benchmark)
    {
        IReadOnlyList<int> counts = RunSettings.Current.Workers ?? CountsOf(benchmark.Descriptor.WorkloadMethod, benchmark.Descriptor.Type);
        return counts.Count == 0 || WorkersParameter.Of(benchmark) is not null ? [benchmark] : counts.Select(count => benchmark.With(count));
    }
}
