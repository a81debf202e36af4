using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace Weir.Delivery;

/// <summary>
/// The identity of a work item: the message in which it was first published, and its place in that message. It is the same at every delivery, so a receiver
/// that stores identities can detect duplicates.
/// </summary>
/// <param name="Origin">The identity of the message or transaction in which the item was first published. Not empty, and without a slash at the end.</param>
/// <param name="Index">The place in the message, from 0.</param>
public readonly record struct WorkId(string Origin, int Index) : IParsable<WorkId>
{
    /// <summary>Parses the text that <see cref="ToString"/> returns.</summary>
    /// <param name="s">The text: the origin, a slash and the index.</param>
    /// <param name="provider">Not used: the format does not depend on the culture.</param>
    /// <returns>The identity.</returns>
    /// <exception cref="FormatException">The text is not an identity.</exception>
    public static WorkId Parse(string s, IFormatProvider? provider = null) =>
        TryParse(s, provider, out WorkId id) ? id : throw new FormatException($"'{s}' is not the identity of an item of work, such as 0199f3a2/17.");

    /// <inheritdoc cref="TryParse(string?, IFormatProvider?, out WorkId)"/>
    public static bool TryParse([NotNullWhen(true)] string? s, out WorkId result) => TryParse(s, null, out result);

    /// <summary>Parses the text that <see cref="ToString"/> returns.</summary>
    /// <param name="s">The text: the origin, a slash and the index.</param>
    /// <param name="provider">Not used: the format does not depend on the culture.</param>
    /// <param name="result">The identity, if the text is one.</param>
    /// <returns><see langword="true"/> if the text is an identity; otherwise, <see langword="false"/>.</returns>
    public static bool TryParse([NotNullWhen(true)] string? s, IFormatProvider? provider, out WorkId result)
    {
        int slash = s?.LastIndexOf('/') ?? -1;
        if (slash > 0 && int.TryParse(s.AsSpan(slash + 1), NumberStyles.None, CultureInfo.InvariantCulture, out int index))
        {
            result = new WorkId(s![..slash], index);
            return true;
        }

        result = default;
        return false;
    }

    /// <summary>The origin, a slash and the index.</summary>
    /// <returns>The text. It is ASCII if the origin is.</returns>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Origin}/{Index}");
}
