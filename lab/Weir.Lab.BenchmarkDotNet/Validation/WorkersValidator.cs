namespace Weir.Lab.Benchmarks.Validation;

/// <summary>
/// Warns of more workers than the machine can run at once, and of compared benchmarks whose calls do different amounts of work.
/// </summary>
internal sealed class WorkersValidator : IValidator
{
    // Each thread reserves about a megabyte and a half of address space, and has to be scheduled.
    private const int MostThreads = 10_000;

    public static readonly WorkersValidator Instance = new();

    public bool TreatsWarningsAsErrors => false;

    /// <inheritdoc/>
    public IEnumerable<ValidationError> Validate(ValidationParameters validationParameters)
    {
        ArgumentNullException.ThrowIfNull(validationParameters);
        return [.. validationParameters.Benchmarks.SelectMany(Check).Distinct(), .. UnequalCalls(validationParameters.Benchmarks)];
    }

    private static IEnumerable<ValidationError> Check(BenchmarkCase benchmark)
    {
        if (WorkersParameter.Of(benchmark) is not int workers || IsAsync(benchmark.Descriptor.WorkloadMethod.ReturnType))
        {
            yield break;
        }

        string method = benchmark.Descriptor.WorkloadMethodDisplayInfo;
        if (workers > MostThreads)
        {
            yield return new ValidationError(
                true, $"{method} with {workers} workers needs as many threads; more than {MostThreads} are not run. A benchmark that returns a task needs "
                    + $"none.", benchmark);
        }
        else if (workers > Environment.ProcessorCount)
        {
            yield return new ValidationError(
                false, $"{method} with {workers} workers: only {Environment.ProcessorCount} run at once here unless they wait, so latencies have the wait for "
                    + $"a processor in them.", benchmark);
        }
    }

    // With a baseline the figures are compared per operation, which is right only if an operation is the same in all of them.
    private static IEnumerable<ValidationError> UnequalCalls(IReadOnlyList<BenchmarkCase> benchmarks)
    {
        foreach (IGrouping<string, BenchmarkCase> group in benchmarks.GroupBy(static b => string.Join(',', b.Descriptor.Categories)))
        {
            BenchmarkCase? baseline = group.FirstOrDefault(static b => b.Descriptor.Baseline);
            BenchmarkCase? other =
                group.FirstOrDefault(b => baseline is not null && b.Descriptor.OperationsPerInvoke != baseline.Descriptor.OperationsPerInvoke);
            if (other is not null)
            {
                yield return new ValidationError(
                    false,
                    $"A call of {other.Descriptor.WorkloadMethodDisplayInfo} counts as {other.Descriptor.OperationsPerInvoke} operations, one of the baseline "
                        + $"{baseline!.Descriptor.WorkloadMethodDisplayInfo} as {baseline.Descriptor.OperationsPerInvoke}: make sure that an operation is the "
                        + $"same work in both.",
                    other);
            }
        }
    }

    private static bool IsAsync(Type returned) => typeof(Task).IsAssignableFrom(returned) || returned == typeof(ValueTask)
        || (returned.IsGenericType && returned.GetGenericTypeDefinition() == typeof(ValueTask<>));
}
