namespace Weir.Lab.Suites.Lasting;

/// <summary>One cell of the grid.</summary>
internal sealed record LastingCell(BlockKind Block, CallKind Kind, double Milliseconds, int Workers, int Share, bool IsRandom)
{
    /// <summary>About how long a run is to take in box.</summary>
    private const double RunMilliseconds = 8;

    /// <summary>About what a message costs in box.</summary>
    private const double MessageMilliseconds = 90e-6;

    private const int MostMessages = 100_000;

    public static readonly int[] Shares = [10, 100, 300, 1_000, 10_000];

    /// <summary>How many calls can really last at once.</summary>
    private int AtOnce => Kind == CallKind.Spin ? Math.Min(Workers, Environment.ProcessorCount) : Workers;

    /// <summary>Which calls last. As many in each half of the run, and a multiple of how many can do so at once.</summary>
    public bool[] Lasts()
    {
        double each = Math.Max(Share * MessageMilliseconds, Milliseconds / AtOnce);
        int most = Math.Max(1, MostMessages / Share);
        int lasting = Math.Clamp((int)(RunMilliseconds / each), 1, most);
        lasting = Math.Max(1, lasting / AtOnce) * Math.Min(AtOnce, most);
        bool[] lasts = new bool[lasting * Share];
        Random random = new(Share);
        for (int i = 0; i < lasting; i++)
        {
            int at = (i * Share) + (Share / 2);
            while (IsRandom)
            {
                at = random.Next(lasts.Length);
                if (!lasts[at])
                {
                    break;
                }
            }

            lasts[at] = true;
        }

        return lasts;
    }
}
