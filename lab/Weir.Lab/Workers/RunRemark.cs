namespace Weir.Lab.Workers;

/// <summary>A remark on the figures of a run.</summary>
/// <param name="Cause">What it is. A run has at most one remark of each cause, and that of another run differs in its figures only.</param>
/// <param name="Text">One sentence, with the figures.</param>
internal sealed record RunRemark(RunCause Cause, string Text)
{
    /// <inheritdoc/>
    public override string ToString() => Text;
}
