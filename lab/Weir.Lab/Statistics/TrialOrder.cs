namespace Weir.Lab.Statistics;

/// <summary>The order of the arms in each round.</summary>
/// <remarks>
/// Rounds come in pairs, there and back (ABC CBA), so that a machine that steadily grows slower or faster treats all arms alike; each
/// pair begins with another arm (BCA ACB), so that none always follows the same neighbour.
/// </remarks>
internal static class TrialOrder
{
    /// <summary>The order of the arms in one round.</summary>
    /// <param name="arms">How many arms there are.</param>
    /// <param name="round">The round, from 0.</param>
    /// <returns>The index of each arm, once.</returns>
    public static int[] Of(int arms, int round)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(arms);
        ArgumentOutOfRangeException.ThrowIfNegative(round);
        int[] order = new int[arms];
        for (int i = 0; i < arms; i++)
        {
            order[i] = (i + (round / 2)) % arms;
        }

        if (round % 2 == 1)
        {
            Array.Reverse(order);
        }

        return order;
    }
}
