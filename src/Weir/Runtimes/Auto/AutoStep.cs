namespace Weir.Runtimes;

/// <summary>A decision whose reason is put into words when somebody asks, because most calls have no such reader, and a first call would take longer.</summary>
internal sealed class AutoStep(AutoDecision decision, FormattableString reason)
{
    public AutoDecision InWords() => decision with { Reason = FormattableString.Invariant(reason) };
}
