using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>
/// Supplies a result for an item that failed. Create it with <see cref="Of{TResult}(Func{int, Exception, TResult})"/>, for operators with results of that type.
/// </summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
public abstract class Fallback
{
    private protected Fallback()
    {
    }

    /// <summary>The type of the results, for messages.</summary>
    internal abstract Type ResultType { get; }

    /// <summary>Creates a synchronous fallback.</summary>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="result">
    /// Returns the result for an item's index and exception. An exception from it is the item's failure. Called from several threads at once.
    /// </param>
    /// <returns>The fallback.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="result"/> is <see langword="null"/>.</exception>
    public static Fallback Of<TResult>(Func<int, Exception, TResult> result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return new TypedFallback<TResult>((index, error) => new ValueTask<TResult>(result(index, error)));
    }

    /// <summary>Creates an asynchronous fallback.</summary>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="result">
    /// Returns the result for an item's index and exception. An exception from it is the item's failure. Called from several threads at once.
    /// </param>
    /// <returns>The fallback.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="result"/> is <see langword="null"/>.</exception>
    public static Fallback OfAsync<TResult>(Func<int, Exception, ValueTask<TResult>> result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return new TypedFallback<TResult>(result);
    }

    /// <summary>The fallback for results of a given type.</summary>
    /// <exception cref="ArgumentException">The fallback returns results of another type.</exception>
    /// <summary>Refuses a fallback of another type of results.</summary>
    internal static void Check<TResult>(Fallback? fallback)
    {
        if (fallback is not null)
        {
            For<TResult>(fallback);
        }
    }

    internal static TypedFallback<TResult>? For<TResult>(Fallback? fallback) => fallback switch
    {
        null => null,
        TypedFallback<TResult> typed => typed,
        _ => throw new ArgumentException(
            $"OnFallback gives a {fallback.ResultType.Name}, but the results of this operator are of type {typeof(TResult).Name}.",
            nameof(ParallelRunOptions.OnFallback)),
    };

    /// <exception cref="ArgumentException">A fallback is set, but there are no results.</exception>
    internal static void ThrowIfSet(Fallback? fallback, string what)
    {
        if (fallback is not null)
        {
            throw new ArgumentException($"OnFallback must be null for {what}, which has no results.", nameof(ParallelRunOptions.OnFallback));
        }
    }
}
