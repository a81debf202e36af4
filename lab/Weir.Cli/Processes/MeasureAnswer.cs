using Weir.Cli.Results;

namespace Weir.Cli.Processes;

/// <summary>One line that a measuring process answers with.</summary>
/// <param name="Round">A round that has ended.</param>
/// <param name="Findings">At the end, what has to be known about all of them.</param>
/// <param name="Rate">How fast a round was whose figures follow later.</param>
internal sealed record MeasureAnswer(RoundRecord? Round, IReadOnlyList<Finding>? Findings = null, double? Rate = null);
