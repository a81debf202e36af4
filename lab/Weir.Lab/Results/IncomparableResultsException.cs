namespace Weir.Lab.Results;

/// <summary>Two results do not compare. The message is one sentence that says why.</summary>
/// <param name="message">Why they do not.</param>
/// <param name="settings">The settings that they differ in, if it is that.</param>
public sealed class IncomparableResultsException(string message, IReadOnlyList<string>? settings = null) : InvalidOperationException(message)
{
    /// <summary>The settings that differ without being allowed to; empty if the results are not comparable for another reason.</summary>
    public IReadOnlyList<string> Settings { get; } = settings ?? [];
}
