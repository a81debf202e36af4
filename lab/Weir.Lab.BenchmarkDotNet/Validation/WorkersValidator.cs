using System.Buffers.Binary;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using Weir.Lab.Benchmarks.Reporting;

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

/// <summary>Checks the bodies of benchmarks for mistakes that make figures wrong: delays shorter than the timer's resolution, and unused results.</summary>
internal sealed class MethodBodyValidator : IValidator
{
    // Timers go in steps of 4 to 15.6 ms: below that, a benchmark measures the step.
    private const int LeastDelay = 16;

    public static readonly MethodBodyValidator Instance = new();

    public bool TreatsWarningsAsErrors => false;

    /// <inheritdoc/>
    public IEnumerable<ValidationError> Validate(ValidationParameters validationParameters)
    {
        ArgumentNullException.ThrowIfNull(validationParameters);
        return validationParameters.Benchmarks
            .DistinctBy(static b => b.Descriptor.WorkloadMethod)
            .SelectMany(static b => Warnings(b.Descriptor.WorkloadMethod).Select(warning => new ValidationError(false, warning, b)));
    }

    internal static IEnumerable<string> Warnings(MethodInfo method)
    {
        IReadOnlyList<Call> calls = MethodCalls.Of(BodyOf(method));
        foreach (Call call in calls)
        {
            if (call is { Milliseconds: int delay, Method.Name: nameof(Task.Delay) or nameof(Thread.Sleep) } && delay is > 0 and < LeastDelay
                && (call.Method.DeclaringType == typeof(Task) || (call.Method.DeclaringType == typeof(Thread) && OperatingSystem.IsWindows())))
            {
                yield return $"{method.Name} waits {delay} ms with {call.Method.DeclaringType!.Name}.{call.Method.Name}, which goes in steps of 4 to 16 ms: "
                    + $"it measures the step. Use Weir.Lab.Work.WaitThread.";
            }

            if (call.IsDropped && HasNoResult(method) && IsPure(call.Method))
            {
                yield return $"{method.Name} takes no notice of what {call.Method.Name} returns, so the compiler may leave it out. Return it.";
            }
        }
    }

    private static bool HasNoResult(MethodInfo method) =>
        method.ReturnType == typeof(void) || method.ReturnType == typeof(Task) || method.ReturnType == typeof(ValueTask);

    // Calls that change something say so by what they return seldom: of those only a bool or the collection itself is dropped.
    private static bool IsPure(MethodBase call) => call is MethodInfo { ReturnType: var returned }
        && returned != typeof(bool) && returned != call.DeclaringType && !typeof(Task).IsAssignableFrom(returned);

    // What an asynchronous method does stands in its state machine.
    private static MethodInfo BodyOf(MethodInfo method) =>
        method.GetCustomAttribute<StateMachineAttribute>()?.StateMachineType.GetMethod(
            "MoveNext", BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public)
        ?? method;
}

/// <summary>Warns when a benchmark returns something else than its baseline: then it probably does different work.</summary>
internal sealed class EqualResultsAnalyser : AnalyserBase
{
    public static readonly EqualResultsAnalyser Instance = new();

    /// <inheritdoc/>
    public override string Id => "EqualWork";

    /// <inheritdoc/>
    protected override IEnumerable<Conclusion> AnalyseSummary(Summary summary)
    {
        foreach (IGrouping<string?, BenchmarkCase> group in summary.BenchmarksCases.GroupBy(b => summary.GetLogicalGroupKey(b)))
        {
            if (group.FirstOrDefault(static b => b.Descriptor.Baseline) is not BenchmarkCase baseline || ReturnedBy(baseline) is not string expected)
            {
                continue;
            }

            foreach (BenchmarkCase benchmark in group)
            {
                if (ReturnedBy(benchmark) is string returned && returned != expected)
                {
                    yield return CreateWarning(
                        (WorkersParameter.Of(benchmark) is { } workers ? FormattableString.Invariant($"Workers={workers}: ") : "")
                            + $"{benchmark.Descriptor.WorkloadMethodDisplayInfo} returns {returned}, but the baseline "
                            + $"{baseline.Descriptor.WorkloadMethodDisplayInfo} returns {expected}: they may do unequal work.",
                        summary[benchmark]);
                }
            }
        }
    }

    private static string? ReturnedBy(BenchmarkCase benchmark) => WorkersDiagnoser.Instance.ResultOf(benchmark)?.Returned;
}

/// <summary>Reads the calls out of the code of a method.</summary>
internal static class MethodCalls
{
    private const byte TwoBytes = 0xFE;
    private static readonly Dictionary<short, OpCode> Codes = typeof(OpCodes).GetFields(BindingFlags.Static | BindingFlags.Public)
        .Select(static f => (OpCode)f.GetValue(null)!)
        .ToDictionary(static c => c.Value);

    /// <summary>The calls in the order of the code; none when the method has no code that can be read.</summary>
    public static IReadOnlyList<Call> Of(MethodInfo method)
    {
        if (method.GetMethodBody()?.GetILAsByteArray() is not byte[] code)
        {
            return [];
        }

        List<Call> calls = [];
        int? constant = null;
        for (int at = 0; at < code.Length;)
        {
            OpCode op = Read(code, ref at);
            int operand = at;
            at += SizeOf(op, code, at);
            if (op.OperandType == OperandType.InlineMethod && op != OpCodes.Newobj && Resolve(method, code, operand) is MethodBase called)
            {
                bool isDropped =
                    at < code.Length && code[at] == OpCodes.Pop.Value && called is MethodInfo { ReturnType: var returned } && returned != typeof(void);
                calls.Add(new Call(called, constant, isDropped));
            }

            constant = ConstantOf(op, code, operand) ?? (op == OpCodes.Nop ? constant : null);
        }

        return calls;
    }

    private static OpCode Read(byte[] code, ref int at)
    {
        byte first = code[at++];
        return Codes[first == TwoBytes ? unchecked((short)((TwoBytes << 8) | code[at++])) : first];
    }

    private static int SizeOf(OpCode op, byte[] code, int at) => op.OperandType switch
    {
        OperandType.InlineNone => 0,
        OperandType.ShortInlineBrTarget or OperandType.ShortInlineI or OperandType.ShortInlineVar => 1,
        OperandType.InlineVar => 2,
        OperandType.InlineI8 or OperandType.InlineR => 8,
        OperandType.InlineSwitch => 4 + (4 * BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(at))),
        _ => 4,
    };

    private static int? ConstantOf(OpCode op, byte[] code, int operand) =>
        op == OpCodes.Ldc_I4_S ? (sbyte)code[operand]
        : op == OpCodes.Ldc_I4 ? BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(operand))
        : op.Value >= OpCodes.Ldc_I4_M1.Value && op.Value <= OpCodes.Ldc_I4_8.Value ? op.Value - OpCodes.Ldc_I4_0.Value
        : null;

    private static MethodBase? Resolve(MethodInfo method, byte[] code, int at)
    {
        try
        {
            return method.Module.ResolveMethod(
                BinaryPrimitives.ReadInt32LittleEndian(code.AsSpan(at)),
                method.DeclaringType is { IsGenericType: true } type ? type.GetGenericArguments() : null,
                method.IsGenericMethod ? method.GetGenericArguments() : null);
        }
        catch (Exception error) when (error is ArgumentException or BadImageFormatException or FileNotFoundException or TypeLoadException)
        {
            // A call that cannot be read is none that could be warned of.
            return null;
        }
    }
}

/// <summary>A call in the body of a method.</summary>
/// <param name="Method">What is called.</param>
/// <param name="Milliseconds">
/// The constant number that stands just before it, which is the first argument of a call with one; <see langword="null"/> when there is none.
/// </param>
/// <param name="IsDropped">Whether what it returns is thrown away.</param>
internal sealed record Call(MethodBase Method, int? Milliseconds, bool IsDropped);
