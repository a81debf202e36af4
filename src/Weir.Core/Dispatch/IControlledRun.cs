using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>A run as its <see cref="RunControl"/> sees it.</summary>
internal interface IControlledRun
{
    /// <summary>Does what the control says from now on. Called under its lock, so in order, and repeatedly with the same order; calls no user code.</summary>
    void Obey(RunOrder order);

    /// <summary>The counts of the run so far.</summary>
    RunSample Count();
}
