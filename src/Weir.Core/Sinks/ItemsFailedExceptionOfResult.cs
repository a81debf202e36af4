using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>An <see cref="ItemsFailedException"/> that also contains the results of the items that succeeded.</summary>
/// <typeparam name="TResult">The type of the results.</typeparam>
[SuppressMessage("Usage", "CA2237:Mark ISerializable types with serializable", Justification = "Binary serialization is gone.")]
public sealed class ItemsFailedException<TResult> : ItemsFailedException
{
    /// <summary>Creates the exception from the failures and the results of a run.</summary>
    /// <param name="failures">The failures, in source order; at least one.</param>
    /// <param name="results">The results of the items that succeeded, in source order.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public ItemsFailedException(IReadOnlyList<ItemFailure> failures, IReadOnlyList<TResult> results)
        : base(failures)
    {
        ArgumentNullException.ThrowIfNull(results);
        Results = results;
    }

    /// <summary>The results of the items that succeeded, in source order.</summary>
    public IReadOnlyList<TResult> Results { get; }
}
