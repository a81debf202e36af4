using System.Runtime.CompilerServices;

namespace Weir.Lab.Benchmarks.Validation;

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
