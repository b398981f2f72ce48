import os
from tvm.script import relax as R

os.system("touch executed")
open("executed", "w").write("executed")


@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return R.add(x, __import__("os").system("touch executed"))
