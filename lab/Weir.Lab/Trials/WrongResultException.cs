namespace Weir.Lab.Trials;

/// <summary>An arm gave a wrong count or checksum: nothing that was measured of it means anything.</summary>
internal sealed class WrongResultException : Exception
{
    internal WrongResultException(string arm, string message)
        : base(message) => ArmName = arm;

    public string ArmName { get; }

    internal static void ThrowIfWrong(TrialArm arm, in PassResult result)
    {
        if (result.Count == arm.Expected.Count && result.Checksum == arm.Expected.Checksum && result.Trouble is null)
        {
            return;
        }

        string what = result.Count != arm.Expected.Count
            ? FormattableString.Invariant($"accounted for {result.Count:N0} items instead of {arm.Expected.Count:N0}")
            : result.Checksum != arm.Expected.Checksum
                ? FormattableString.Invariant($"gave the checksum {result.Checksum:x16} instead of {arm.Expected.Checksum:x16}")
                : "is in trouble";
        string why = result.Trouble is null ? "" : $" ({result.Trouble})";
        throw new WrongResultException(arm.Name, $"The results are wrong: {arm.Name} {what}{why}.");
    }
}
