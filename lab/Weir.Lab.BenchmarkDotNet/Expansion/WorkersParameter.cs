using System.Collections.Immutable;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Order;
using BenchmarkDotNet.Parameters;

namespace Weir.Lab.Benchmarks.Expansion;

/// <summary>The number of workers as a parameter of a case.</summary>
/// <remarks>
/// It is an argument that no method has. BenchmarkDotNet generates code for the parameters that a method has, and shows those that a case has: so this one
/// has a column and a field in exports, and needs no member in the benchmark class. The engine learns it from a variable of the job's environment, which
/// costs no build of its own.
/// </remarks>
internal static class WorkersParameter
{
    public const string Name = "Workers";

    /// <summary>The variable that tells the engine.</summary>
    public const string Variable = "WEIR_LAB_WORKERS";

    // Cases with the same job and number share a job, so that they are one group in reports.
    private static readonly ConcurrentDictionary<(Job, int), Job> Jobs = new();

    public static BenchmarkCase With(this BenchmarkCase source, int count)
    {
        ParameterDefinition definition = new(Name, isStatic: false, [count], isArgument: true, typeof(int), priorityInCategory: 0);
        ParameterInstance instance = new(definition, count, source.Config.SummaryStyle ?? SummaryStyle.Default);
        return BenchmarkCase.Create(
            source.Descriptor, JobWith(source.Job, count), new ParameterInstances([.. source.Parameters.Items, instance]), source.Config);
    }

    /// <summary>The number of workers of a case; <see langword="null"/> for a case of BenchmarkDotNet alone.</summary>
    public static int? Of(BenchmarkCase benchmark) =>
        benchmark.Parameters.Items is [.., { Name: Name, IsArgument: true, Value: int count }] && !HasParameter(benchmark) ? count : null;

    /// <summary>The number of workers that a job tells the engine; <see langword="null"/> for a case of BenchmarkDotNet alone.</summary>
    public static int? Of(Job job)
    {
        // In process the job has the variable, in a process of its own that process.
        string? value = job.HasValue(EnvironmentMode.EnvironmentVariablesCharacteristic)
            ? job.Environment.EnvironmentVariables.FirstOrDefault(static v => v.Key == Variable)?.Value
            : Environment.GetEnvironmentVariable(Variable);
        return int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out int count) ? count : null;
    }

    private static Job JobWith(Job job, int count) => Jobs.GetOrAdd((job, count), static key =>
    {
        (Job source, int count) = key;
        EnvironmentVariable variable = new(Variable, count.ToString(CultureInfo.InvariantCulture));
        IEnumerable<EnvironmentVariable> others =
            source.HasValue(EnvironmentMode.EnvironmentVariablesCharacteristic) ? source.Environment.EnvironmentVariables : [];

        // The name of the job stays: a job for each number would be a column of its own.
        return source.WithEnvironmentVariables([.. others, variable]).WithId(source.ResolvedId);
    });

    // A method may have a parameter of this name of its own.
    private static bool HasParameter(BenchmarkCase benchmark) =>
        benchmark.Descriptor.WorkloadMethod.GetParameters().Any(static p => p.Name == Name);
}

/// <summary>Expands each case into one for each number of workers, where alone BenchmarkDotNet asks for the list of cases to run.</summary>
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
