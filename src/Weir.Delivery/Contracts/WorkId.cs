using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace Weir.Delivery;

/// <summary>
/// The identity of an item of work: the message it was first published in, and its place there. It stays the same however often the item is delivered, so a
/// receiver that remembers it can tell a repetition.
/// </summary>
/// <param name="Origin">The identity of the message or transaction that the item was first part of. Not empty, and without a slash at its end.</param>
/// <param name="Index">The place in it, from 0.</param>
public readonly record struct WorkId(string Origin, int Index) : IParsable<WorkId>
{
    /// <summary>Reads what <see cref="ToString"/> wrote.</summary>
    /// <param name="s">The text: the origin, a slash and the index.</param>
    /// <param name="provider">Not used: the form is the same everywhere.</param>
    /// <returns>The identity.</returns>
    /// <exception cref="FormatException">The text is not an identity.</exception>
    public static WorkId Parse(string s, IFormatProvider? provider = null) =>
        TryParse(s, provider, out WorkId id) ? id : throw new FormatException($"'{s}' is not the identity of an item of work, such as 0199f3a2/17.");

    /// <inheritdoc cref="TryParse(string?, IFormatProvider?, out WorkId)"/>
    public static bool TryParse([NotNullWhen(true)] string? s, out WorkId result) => TryParse(s, null, out result);

    /// <summary>Reads what <see cref="ToString"/> wrote.</summary>
    /// <param name="s">The text: the origin, a slash and the index.</param>
    /// <param name="provider">Not used: the form is the same everywhere.</param>
    /// <param name="result">The identity, if the text is one.</param>
    /// <returns>Whether the text is an identity.</returns>
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
    /// <returns>A text of ASCII characters if the origin is one.</returns>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Origin}/{Index}");
}
