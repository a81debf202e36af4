using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>
/// One or more items of a run with <see cref="ErrorMode.CollectAndContinue"/> failed. The inner exceptions are those of the
/// items, in source order.
/// </summary>
[SuppressMessage("Usage", "CA2237:Mark ISerializable types with serializable", Justification = "Binary serialization is gone.")]
public class ItemsFailedException : AggregateException
{
    /// <summary>Creates the exception from the failures of a run.</summary>
    /// <param name="failures">The failures, in source order; at least one.</param>
    /// <exception cref="ArgumentNullException"><paramref name="failures"/> is <see langword="null"/>.</exception>
    public ItemsFailedException(IReadOnlyList<ItemFailure> failures)
        : base(Describe(failures), failures.Select(static f => f.Error))
    {
        Failures = failures;
    }

    /// <summary>Each failure with the item's index, in source order.</summary>
    public IReadOnlyList<ItemFailure> Failures { get; }

    private static string Describe(IReadOnlyList<ItemFailure> failures)
    {
        ArgumentNullException.ThrowIfNull(failures);
        return failures.Count == 1 ? "One item failed." : $"{failures.Count} items failed.";
    }
}
