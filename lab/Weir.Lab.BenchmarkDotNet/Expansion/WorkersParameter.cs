using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Parameters;

namespace Weir.Lab.Benchmarks.Expansion;

/// <summary>The number of workers as a parameter of a case.</summary>
/// <remarks>
/// It is an argument that no method has. BenchmarkDotNet generates code for the parameters that a method has, and shows those that a case has: so this one
/// has a column and a place in exports, and needs no member in the benchmark class. The engine learns it from a variable of the job's environment, which
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
