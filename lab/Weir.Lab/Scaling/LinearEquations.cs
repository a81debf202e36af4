namespace Weir.Lab.Scaling;

/// <summary>Solves a few linear equations by elimination.</summary>
internal static class LinearEquations
{
    /// <summary>Solves them in place.</summary>
    /// <param name="matrix">A row for each equation: its factors, and then its right side.</param>
    /// <returns>The solution; <see langword="null"/> when there is not exactly one.</returns>
    public static double[]? Solve(double[,] matrix)
    {
        int size = matrix.GetLength(0);
        for (int column = 0; column < size; column++)
        {
            int pivot = column;
            for (int row = column + 1; row < size; row++)
            {
                pivot = Math.Abs(matrix[row, column]) > Math.Abs(matrix[pivot, column]) ? row : pivot;
            }

            if (!(Math.Abs(matrix[pivot, column]) > 0) || !double.IsFinite(matrix[pivot, column]))
            {
                return null;
            }

            for (int k = column; k <= size; k++)
            {
                (matrix[column, k], matrix[pivot, k]) = (matrix[pivot, k], matrix[column, k]);
            }

            for (int row = column + 1; row < size; row++)
            {
                double factor = matrix[row, column] / matrix[column, column];
                for (int k = column; k <= size; k++)
                {
                    matrix[row, k] -= factor * matrix[column, k];
                }
            }
        }

        double[] solution = new double[size];
        for (int row = size - 1; row >= 0; row--)
        {
            double rest = matrix[row, size];
            for (int k = row + 1; k < size; k++)
            {
                rest -= matrix[row, k] * solution[k];
            }

            solution[row] = rest / matrix[row, row];
        }

        return solution;
    }
}
