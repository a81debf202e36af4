namespace Weir.Audit.Checks;

/// <summary>What the tables say at one moment, or what has changed between two moments.</summary>
internal sealed record AuditCounts
{
    /// <summary>Changes that the publisher was asked for.</summary>
    public long Asked { get; init; }

    /// <summary>Changes that were published.</summary>
    public long Published { get; init; }

    /// <summary>Effects that were applied, with those that were applied again.</summary>
    public long Applied { get; init; }

    /// <summary>Deliveries of changes whose effect was there already. The queue may deliver a change again: this is no fault.</summary>
    public long DeliveredAgain { get; init; }

    /// <summary>Changes without an effect.</summary>
    public long Lost { get; init; }

    /// <summary>Effects that were applied once more.</summary>
    public long AppliedTwice { get; init; }

    /// <summary>Effects that were applied after one of a later change of the same key.</summary>
    public long OutOfOrder { get; init; }

    /// <summary>Effects of changes that nobody has published, or with another key.</summary>
    public long Unknown { get; init; }

    /// <summary>Changes that became dead letters.</summary>
    public long DeadLetters { get; init; }

    /// <summary>What has been added since.</summary>
    public AuditCounts Since(AuditCounts before) => Plus(before, -1);

    /// <summary>Both together.</summary>
    public AuditCounts Plus(AuditCounts other, int times = 1) => new()
    {
        Asked = Asked + (times * other.Asked),
        Published = Published + (times * other.Published),
        Applied = Applied + (times * other.Applied),
        DeliveredAgain = DeliveredAgain + (times * other.DeliveredAgain),
        Lost = Lost + (times * other.Lost),
        AppliedTwice = AppliedTwice + (times * other.AppliedTwice),
        OutOfOrder = OutOfOrder + (times * other.OutOfOrder),
        Unknown = Unknown + (times * other.Unknown),
        DeadLetters = DeadLetters + (times * other.DeadLetters),
    };

    /// <summary>Whether what a seeded fault must lead to has happened.</summary>
    public bool Shows(SeededFault fault) => fault switch
    {
        SeededFault.AckBeforeEffect => Lost > 0,
        SeededFault.EffectOutsideTransaction => AppliedTwice > 0,
        SeededFault.NoKeyOrder => OutOfOrder > 0,
        _ => false,
    };

    /// <summary>The promises that are broken, a few words each.</summary>
    /// <param name="isQuiet">Whether nothing has happened to anybody, so that nothing need have been delivered again.</param>
    public IEnumerable<string> FindBroken(bool isQuiet = false)
    {
        (long Count, string What)[] all =
        [
            (Lost, "lost"), (AppliedTwice, "applied twice"), (OutOfOrder, "out of order"), (Unknown, "applied but never published"),
            (DeadLetters, "dead letters"), (Asked - Published, "not published"), (Published - Asked, "published beyond what was asked"),
            (isQuiet ? DeliveredAgain : 0, "delivered again without a fault"),
        ];
        return all.Where(static a => a.Count > 0).Select(static a => FormattableString.Invariant($"{a.Count:N0} {a.What}"));
    }
}
