using System.Runtime.InteropServices;

namespace Weir.Audit.Checks;

/// <summary>
/// Compares what was published with what came of it, one row after the other: first the changes, then the effects in the order in which they were applied.
/// </summary>
internal sealed class AuditJudge
{
    private readonly Dictionary<long, (string Key, bool IsApplied)> _changes = [];
    private readonly HashSet<(long Number, string Key)> _unknown = [];
    private readonly Dictionary<string, long> _last = [];
    private long _applied;
    private long _twice;
    private long _late;

    /// <summary>What was found so far.</summary>
    public AuditCounts Counts => new()
    {
        Published = _changes.Count,
        Applied = _applied,
        Lost = _changes.Count - (_applied - _twice - _unknown.Count),
        AppliedTwice = _twice,
        OutOfOrder = _late,
        Unknown = _unknown.Count,
    };

    /// <summary>Adds a change that was published.</summary>
    public void Publish(long number, string key) => _changes.Add(number, (key, false));

    /// <summary>Adds an effect. A key that is empty is none, and has no order.</summary>
    public void Apply(long number, string key)
    {
        _applied++;
        ref (string Key, bool IsApplied) change = ref CollectionsMarshal.GetValueRefOrNullRef(_changes, number);
        bool isKnown = !System.Runtime.CompilerServices.Unsafe.IsNullRef(ref change) && change.Key == key;

        // An effect that was applied twice is in its place the first time.
        if (isKnown ? change.IsApplied : !_unknown.Add((number, key)))
        {
            _twice++;
            return;
        }

        if (isKnown)
        {
            change.IsApplied = true;
        }

        if (key.Length > 0)
        {
            ref long last = ref CollectionsMarshal.GetValueRefOrAddDefault(_last, key, out _);
            _late += number < last ? 1 : 0;
            last = Math.Max(last, number);
        }
    }
}
