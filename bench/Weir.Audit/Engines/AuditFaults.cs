namespace Weir.Audit.Engines;

/// <summary>The names of the faults that can be put into the workers.</summary>
internal static class AuditFaults
{
    public static IReadOnlyDictionary<string, SeededFault> All { get; } = new Dictionary<string, SeededFault>(StringComparer.OrdinalIgnoreCase)
    {
        ["none"] = SeededFault.None,
        ["ack-before-effect"] = SeededFault.AckBeforeEffect,
        ["effect-outside-transaction"] = SeededFault.EffectOutsideTransaction,
        ["no-key-order"] = SeededFault.NoKeyOrder,
    };

    public static string NameOf(SeededFault fault) => All.First(named => named.Value == fault).Key;
}
