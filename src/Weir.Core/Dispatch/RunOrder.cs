using System.Runtime.InteropServices;

namespace Weir.Core.Dispatch;

/// <summary>What a <see cref="RunControl"/> wants of its runs.</summary>
/// <param name="IsPaused">Whether no item begins for now.</param>
/// <param name="IsStopped">Whether no item begins any more.</param>
/// <param name="Limit">How many items may be in flight, or null for the run's own number.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct RunOrder(bool IsPaused, bool IsStopped, int? Limit);
