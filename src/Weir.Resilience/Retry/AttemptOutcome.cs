using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>How one attempt ended: with a result or with an exception. It is what decides about another attempt where results can be refused too.</summary>
/// <typeparam name="TResult">The type of the results.</typeparam>
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "It is read, not compared.")]
public readonly struct AttemptOutcome<TResult>
{
    internal AttemptOutcome(TResult? result, Exception? exception, int attempt)
    {
        Result = result;
        Exception = exception;
        Attempt = attempt;
    }

    /// <summary>Whether the attempt gave a result.</summary>
    [MemberNotNullWhen(true, nameof(Result))]
    [MemberNotNullWhen(false, nameof(Exception))]
    public bool HasResult => Exception is null;

    /// <summary>The result; the default value of its type if the attempt failed.</summary>
    public TResult? Result { get; }

    /// <summary>The exception of an attempt that failed; otherwise <see langword="null"/>.</summary>
    public Exception? Exception { get; }

    /// <summary>The number of the attempt, from 1.</summary>
    public int Attempt { get; }
}
