namespace Weir.Explore.Scheduling;

/// <summary>One choice of a schedule: which of several threads that could run went on. Number 0 is the one that was running, if it could go on.</summary>
internal readonly record struct Decision(byte Chosen, byte Count, bool CouldContinue)
{
    public bool IsPreemption => CouldContinue && Chosen != 0;
}
