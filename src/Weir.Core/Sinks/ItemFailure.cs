using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>The exception of one failed item, with the item's place in the source.</summary>
/// <param name="Index">The item's position in the source, from 0; -1 for a failure that belongs to no item, such as that of the source itself.</param>
/// <param name="Error">The exception.</param>
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The field's term, the same as ItemOutcome.Error.")]
public sealed record ItemFailure(long Index, Exception Error);
